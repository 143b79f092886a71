import { BigDecimal, Data, Effect, Option } from "effect"

/** An argument that is no amount of money. */
export class WrongAmount extends Data.TaggedError("WrongAmount")<{ readonly message: string }> {}

/** An amount in EUR as people write it: digits, and up to four decimals after a point. */
export const readEur = (text: string, argument: string): Effect.Effect<BigDecimal.BigDecimal, WrongAmount> =>
  /^\d{1,12}(\.\d{1,4})?$/.test(text)
    ? Option.match(BigDecimal.fromString(text), { onNone: () => wrong(argument), onSome: Effect.succeed })
    : wrong(argument)

const wrong = (argument: string) =>
  Effect.fail(new WrongAmount({ message: `${argument} must be an amount in EUR, such as 25 or 12.50` }))
