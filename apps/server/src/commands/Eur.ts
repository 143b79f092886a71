import { BigDecimal, Data, Effect, Option } from "effect"

/** An argument that is not an amount of money. */
export class InvalidEur extends Data.TaggedError("InvalidEur")<{ readonly message: string }> {}

/** An amount in EUR as people write it: digits, and up to four decimals after a point. */
export const readEur = (text: string, argument: string): Effect.Effect<BigDecimal.BigDecimal, InvalidEur> =>
  /^\d{1,12}(\.\d{1,4})?$/.test(text)
    ? Option.match(BigDecimal.fromString(text), { onNone: () => invalid(argument), onSome: Effect.succeed })
    : invalid(argument)

const invalid = (argument: string) =>
  Effect.fail(new InvalidEur({ message: `${argument} must be an amount in EUR, such as 25 or 12.50` }))
