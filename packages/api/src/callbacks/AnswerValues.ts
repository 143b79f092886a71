import { Schema } from "effect"
import { JsonObject } from "../Wire.ts"

/** Values in the answers of the agent's server. Their messages do not name the field: the warning does. */

export const Text = Schema.String.annotations({ message: () => "must be a string" })

/** A message in place of those of the parts of a schema. */
export const said = (message: string) => ({ message: () => ({ message, override: true }) })

export const wholeNumber = (min: number, max: number) =>
  Schema.Int.pipe(Schema.between(min, max)).annotations(said(`must be a whole number from ${min} to ${max}`))

export const numberFrom = (min: number, max: number) =>
  Schema.Number.pipe(Schema.between(min, max)).annotations(said(`must be a number from ${min} to ${max}`))

/** A JSON object, whose fields are decoded separately. */
export const Fields = JsonObject.annotations({ message: () => "must be an object" })
