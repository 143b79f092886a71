import { Schema } from "effect"

const Count = Schema.Number

/**
 * The settings of the `call.started` answer as they apply to a call: each value that was given and is valid, else its
 * default. See docs/reference/agent-server.md, "Turns and speech".
 */
export const AppliedSettings = Schema.Struct({
  /** Those that are in use now. */
  language: Schema.String,
  voice: Schema.String,
  turn_taking: Schema.Struct({
    /** Null: the endpointing of speech-to-text itself, else 500. */
    end_of_turn_ms: Schema.NullOr(Count),
    interrupt_after_ms: Count,
    interrupt_min_words: Count,
    resume_after_ms: Schema.NullOr(Count),
    preemptive: Schema.Boolean
  }),
  first_message_interruptible: Schema.Boolean,
  silence_prompts: Schema.NullOr(
    Schema.Struct({ after_seconds: Count, say: Schema.NullOr(Schema.String), max: Count })
  ),
  /** Null, as a whole or a part: the model's own choice. */
  model: Schema.NullOr(
    Schema.Struct({
      name: Schema.NullOr(Schema.String),
      temperature: Schema.NullOr(Count),
      max_tokens: Schema.NullOr(Count)
    })
  ),
  speech: Schema.Struct({
    speed: Count,
    pronunciations: Schema.Array(Schema.Struct({ text: Schema.String, say: Schema.String }))
  }),
  platform_tools: Schema.Array(Schema.String),
  languages: Schema.Array(Schema.Struct({ language: Schema.String, voice: Schema.String })),
  /** Settings that were given and do not apply, each with the reason. */
  left_out: Schema.Array(Schema.Struct({ field: Schema.String, reason: Schema.String }))
}).annotations({ identifier: "AppliedSettings" })
export type AppliedSettings = typeof AppliedSettings.Type
