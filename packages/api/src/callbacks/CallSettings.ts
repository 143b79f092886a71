import { Schema } from "effect"
import { Fields, numberFrom, said, Text, wholeNumber } from "./AnswerValues.ts"

/**
 * Fields of the `call.started` answer that say how the agent takes turns, speaks and thinks. Each is decoded separately.
 * See docs/reference/agent-server.md.
 */

const trueOrFalse = Schema.Boolean.annotations(said("must be true or false"))

/** `turn_taking`. Times in milliseconds. */
export const turnTakingFields = {
  /** Silence after the last final words that ends the caller's turn, in place of the endpointing of speech-to-text itself. */
  end_of_turn_ms: wholeNumber(200, 5000),
  /** Sound of the caller that stops the agent. */
  interrupt_after_ms: wholeNumber(0, 5000),
  /** 0: sound alone stops the agent; n: only that many words do. */
  interrupt_min_words: wholeNumber(0, 10),
  /** Without words for so long after the cut, the agent goes on; null: never. */
  resume_after_ms: Schema.NullOr(wholeNumber(500, 10_000)).annotations(
    said("must be null, or a whole number from 500 to 10000")
  ),
  /** Whether the model is asked before the end of the caller's turn is certain. */
  preemptive: trueOrFalse
} as const

/** `silence_prompts`: what the agent says to a silent caller. */
export const silencePromptFields = {
  after_seconds: numberFrom(3, 60),
  /** The text, or null: the model is asked to go on. */
  say: Schema.NullOr(
    Text.pipe(
      Schema.pattern(/\S/, { message: () => "must not be empty" }),
      Schema.maxLength(1000, { message: () => "must not exceed 1000 characters" })
    )
  ),
  /** How many for each silence. */
  max: wholeNumber(1, 5)
} as const

/** `model`: how the language model is asked. */
export const modelFields = {
  /** One that a loaded plugin offers. */
  name: Text,
  temperature: numberFrom(0, 2),
  max_tokens: wholeNumber(16, 8192)
} as const

/** The longest `text` and `say` of a pronunciation, in characters. */
const maxPronounced = 200
const pronounced = (field: string) =>
  Text.pipe(
    Schema.pattern(/\S/, { message: () => `${field} must not be empty` }),
    Schema.maxLength(maxPronounced, { message: () => `${field} must not exceed ${maxPronounced} characters` })
  )

/** One of `speech.pronunciations`: how whole words are spoken, whatever their case. */
export const pronunciationFields = { text: pronounced("text"), say: pronounced("say") } as const

const maxPronunciations = 100

/** `speech`. */
export const speechFields = {
  speed: numberFrom(0.5, 2),
  pronunciations: Schema.Array(Schema.Unknown)
    .annotations({ message: () => "must be an array" })
    .pipe(Schema.maxItems(maxPronunciations, { message: () => `cannot exceed ${maxPronunciations} entries` }))
} as const

/** Tools that the platform runs and that the answer enables by name in `platform_tools`. */
export const optionalPlatformTools = ["press_keys", "switch_language"] as const

const maxLanguages = 13

export const settingFields = {
  turn_taking: Fields,
  first_message_interruptible: trueOrFalse,
  silence_prompts: Fields,
  model: Fields,
  speech: Fields,
  platform_tools: Schema.Array(Schema.Unknown)
    .annotations({ message: () => "must be an array of names" })
    .pipe(Schema.maxItems(20, { message: () => "platform_tools cannot exceed 20 entries" })),
  /** BCP-47: what `switch_language` may choose. */
  languages: Schema.Array(Schema.Unknown)
    .annotations({ message: () => "must be an array of BCP-47 codes" })
    .pipe(
      Schema.filter((list) => list.length >= 1 && list.length <= maxLanguages, {
        message: () => `must have 1 to ${maxLanguages} entries`
      })
    )
} as const
