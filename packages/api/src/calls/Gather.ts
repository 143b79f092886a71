import { Schema } from "effect"
import { Language } from "../agents/Language.ts"
import { define } from "../VoiceError.ts"

/** A whole number within limits, with its default. */
const integer = (name: string, min: number, max: number, defaultValue: number) => {
  const message = () => ({ message: `${name} must be between ${min} and ${max}`, override: true })
  const schema = Schema.Int.pipe(Schema.between(min, max)).annotations({ message, examples: [defaultValue] })
  return Schema.optionalWith(schema, { default: () => defaultValue })
}

/** Body of `POST /v1/calls/<id>/gather`. Whether the voice speaks the language is the service's to check. */
export const GatherRequest = Schema.Struct({
  prompt: Schema.String.pipe(Schema.pattern(/\S/, { message: () => "prompt is required." })).annotations({
    description: "What the caller hears first",
    examples: ["Please type your order number, then the hash key."]
  }),
  max_digits: integer("max_digits", 1, 20, 10),
  terminator: Schema.optionalWith(
    Schema.String.pipe(
      Schema.pattern(/^[0-9*#]?$/, { message: () => "terminator must be one key of 0-9, * and #, or empty" })
    ).annotations({ description: "The key that ends the input; empty: none does", examples: ["#"] }),
    { default: () => "#" }
  ),
  timeout_seconds: integer("timeout_seconds", 5, 60, 15),
  voice: Schema.optionalWith(
    Schema.String.annotations({ description: "`female`, `male`, or the name of a voice", examples: ["female"] }),
    { default: () => "female" }
  ),
  language: Schema.optionalWith(Language, { default: () => "en-US" as const })
}).annotations({ identifier: "GatherRequest" })
export type GatherRequest = typeof GatherRequest.Type

/** Answer to it; the outcome follows as `call.gather.completed`. */
export const GatherAccepted = Schema.Struct({
  message: Schema.String.annotations({ examples: ["Gather started"] }),
  /** The numeric id. */
  call_id: Schema.Int
})

export class GatherAlreadyActive extends define(
  "GatherAlreadyActive",
  "GATHER_ALREADY_ACTIVE",
  409,
  "a gather is already active on this call"
) {}
