import { Config, ConfigError, Either } from "effect"

/** Reads variables that set limits: an unset or empty one leaves the default, an invalid one is an error. */

/** The value of a variable, or undefined where it is unset or empty. */
const setting = <A>(name: string, message: string, read: (value: string) => A | undefined) =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.mapOrFail((value): Either.Either<A | undefined, ConfigError.ConfigError> => {
      if (value.trim() === "") return Either.right(undefined)
      const parsed = read(value.trim())
      return parsed === undefined ? Either.left(ConfigError.InvalidData([name], message)) : Either.right(parsed)
    })
  )

const digits = /^[1-9][0-9]{0,8}$/

/** A whole number, 1 or more. */
export const count = (name: string) =>
  setting(name, "must be a whole number from 1 to 999999999", (value) =>
    digits.test(value) ? Number(value) : undefined
  )

/** A count, or the word `unlimited`, which is null in `value`. */
export const rate = (name: string) =>
  setting(name, "must be a whole number from 1 to 999999999, or unlimited", (value) => {
    if (value === "unlimited") return { value: null }
    return digits.test(value) ? { value: Number(value) } : undefined
  })
