import { languages } from "@svc/api/agents/Language"
import {
  modelFields,
  optionalPlatformTools,
  pronunciationFields,
  settingFields,
  silencePromptFields,
  speechFields,
  turnTakingFields
} from "@svc/api/callbacks/CallSettings"
import { Schema } from "effect"
import { decodeValue, fieldReader, isRecord, type Warnings } from "./FieldReader.ts"

/** How the agent takes turns, speaks and thinks in one call: fields of the `call.started` answer, every value resolved. */

/** Times in milliseconds. */
const TurnTaking = Schema.Struct({
  /** Null: the endpointing of speech-to-text itself. */
  end_of_turn_ms: Schema.NullOr(Schema.Number),
  interrupt_after_ms: Schema.Number,
  interrupt_min_words: Schema.Number,
  /** Null: what was cut stays cut. */
  resume_after_ms: Schema.NullOr(Schema.Number),
  preemptive: Schema.Boolean
})
type TurnTaking = typeof TurnTaking.Type

export const defaultTurnTaking: TurnTaking = {
  end_of_turn_ms: null,
  interrupt_after_ms: 500,
  interrupt_min_words: 0,
  resume_after_ms: 2000,
  preemptive: true
}

const SilencePrompts = Schema.Struct({
  after_seconds: Schema.Number,
  /** Null: the model is asked to go on. */
  say: Schema.NullOr(Schema.String),
  max: Schema.Number
})

/** Null: the model's own choice. */
const ModelSettings = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Number),
  max_tokens: Schema.NullOr(Schema.Number),
  /** How many tokens a request to the named model and its answer may have together; absent: not known. */
  context_tokens: Schema.optionalWith(Schema.Number, { exact: true })
})

const Pronunciation = Schema.Struct({ text: Schema.String, say: Schema.String })
export type Pronunciation = typeof Pronunciation.Type

const SpeechSettings = Schema.Struct({ speed: Schema.Number, pronunciations: Schema.Array(Pronunciation) })
export type SpeechSettings = typeof SpeechSettings.Type

export const defaultSpeech: SpeechSettings = { speed: 1, pronunciations: [] }

const PlatformTool = Schema.Literal(...optionalPlatformTools)

const isPlatformTool = Schema.is(PlatformTool)

/** A field that is absent in journals of earlier versions. */
const added = <A, I>(schema: Schema.Schema<A, I>, otherwise: () => NoInfer<A>) =>
  Schema.optionalWith(schema, { exact: true, default: otherwise })

/** Fields of the configuration of a call. */
export const callSettings = {
  turn_taking: added(TurnTaking, () => defaultTurnTaking),
  first_message_interruptible: added(Schema.Boolean, () => true),
  silence_prompts: added(Schema.NullOr(SilencePrompts), () => null),
  model: added(Schema.NullOr(ModelSettings), () => null),
  speech: added(SpeechSettings, () => defaultSpeech),
  platform_tools: added(Schema.Array(PlatformTool), () => []),
  /** What `switch_language` may choose, each with the voice that speaks it. */
  languages: added(Schema.Array(Schema.Struct({ language: Schema.String, voice: Schema.String })), () => [])
}
const CallSettings = Schema.Struct(callSettings)
type CallSettings = typeof CallSettings.Type

/** What the loaded plugins can do. */
export interface Abilities {
  /** Whether a voice speaks a language. */
  readonly speaks: (voice: string, language: string) => boolean
  /** The voice itself where it speaks the language, else a similar one that does; null: none does. */
  readonly voiceFor: (voice: string, language: string) => string | null
  /** The names of all language models; `any`: not known, so that every name is taken. */
  readonly models: ReadonlyArray<string> | "any"
  /** How many tokens a request to a model and its answer may have together. Absent or undefined: not known. */
  readonly contextTokens?: (model: string) => number | undefined
}

type Answer = Readonly<Record<string, unknown>>

const turnTakingOf = (given: Answer | null, warnings: Warnings): TurnTaking => {
  if (given === null) return defaultTurnTaking
  const read = fieldReader(warnings, given, "turn_taking.")
  const defaults = defaultTurnTaking
  return {
    end_of_turn_ms: read("end_of_turn_ms", turnTakingFields.end_of_turn_ms),
    interrupt_after_ms: read("interrupt_after_ms", turnTakingFields.interrupt_after_ms) ?? defaults.interrupt_after_ms,
    interrupt_min_words:
      read("interrupt_min_words", turnTakingFields.interrupt_min_words) ?? defaults.interrupt_min_words,
    resume_after_ms:
      given["resume_after_ms"] === null
        ? null
        : (read("resume_after_ms", turnTakingFields.resume_after_ms) ?? defaults.resume_after_ms),
    preemptive: read("preemptive", turnTakingFields.preemptive) ?? defaults.preemptive
  }
}

/** All or nothing, as the warnings say: a prompt without its time or number makes no sense. */
const silencePromptsOf = (given: Answer | null, warnings: Warnings): CallSettings["silence_prompts"] => {
  if (given === null) return null
  const { after_seconds, max, say } = silencePromptFields
  const withIt = ", and silence_prompts as a whole with it"
  const part = <A, I>(name: string, schema: Schema.Schema<A, I>): A | null =>
    given[name] === undefined
      ? warnings.add(`silence_prompts.${name}`, `is required${withIt}`)
      : decodeValue(warnings, `silence_prompts.${name}`, given[name], schema, withIt)
  const seconds = part("after_seconds", after_seconds)
  const most = part("max", max)
  const text = given["say"] ?? null
  const words = decodeValue(warnings, "silence_prompts.say", text, say, withIt)
  if (seconds === null || most === null || (text !== null && words === null)) return null
  if (given["say"] === undefined)
    warnings.add("silence_prompts.say", "is required; without it the model is asked to go on, as with null")
  return { after_seconds: seconds, say: words, max: most }
}

const modelOf = (
  given: Answer | null,
  { contextTokens, models: offered }: Pick<Abilities, "contextTokens" | "models">,
  warnings: Warnings
): CallSettings["model"] => {
  if (given === null) return null
  const read = fieldReader(warnings, given, "model.")
  const name = read("name", modelFields.name)
  const known = name === null || offered === "any" || offered.includes(name)
  if (!known) warnings.add("model.name", () => `no loaded plugin offers this model (there is ${shownNames(offered)})`)
  const context_tokens = known && name !== null ? contextTokens?.(name) : undefined
  return {
    ...(context_tokens === undefined ? {} : { context_tokens }),
    name: known ? name : null,
    temperature: read("temperature", modelFields.temperature),
    max_tokens: read("max_tokens", modelFields.max_tokens)
  }
}

/** The names that a warning shows. */
const shownNames = (names: ReadonlyArray<string>): string =>
  names.length > 6 ? `${names.slice(0, 6).join(", ")} and ${names.length - 6} more` : names.join(", ") || "none"

const speechOf = (given: Answer | null, warnings: Warnings): SpeechSettings => {
  if (given === null) return defaultSpeech
  const read = fieldReader(warnings, given, "speech.")
  const pronunciations: Array<Pronunciation> = []
  for (const [index, item] of (read("pronunciations", speechFields.pronunciations) ?? []).entries()) {
    const path = `speech.pronunciations.${index}`
    if (!isRecord(item)) {
      warnings.add(path, "must be an object")
      continue
    }
    const text = decodeValue(warnings, `${path}.text`, item["text"], pronunciationFields.text)
    const say = text === null ? null : decodeValue(warnings, `${path}.say`, item["say"], pronunciationFields.say)
    if (text !== null && say !== null) pronunciations.push({ text: text.trim(), say: say.trim() })
  }
  return { speed: read("speed", speechFields.speed) ?? defaultSpeech.speed, pronunciations }
}

const languagesOf = (
  given: ReadonlyArray<unknown>,
  voiceFor: (language: string) => string | null,
  warnings: Warnings
): CallSettings["languages"] => {
  const known: ReadonlyArray<string> = languages
  const wanted = new Map<string, string>()
  for (const [index, item] of given.entries()) {
    const path = `languages.${index}`
    if (typeof item !== "string" || !known.includes(item)) {
      warnings.add(path, "must be a supported BCP-47 code")
      continue
    }
    const voice = voiceFor(item)
    if (voice === null) warnings.add(path, `no voice of the loaded plugins speaks ${item}`)
    else wanted.set(item, voice)
  }
  return [...wanted].map(([language, voice]) => ({ language, voice }))
}

const platformToolsIn = (
  given: ReadonlyArray<unknown>,
  languagesToChoose: CallSettings["languages"],
  warnings: Warnings
): CallSettings["platform_tools"] => {
  const tools = new Set<typeof PlatformTool.Type>()
  for (const [index, item] of given.entries()) {
    const path = `platform_tools.${index}`
    if (!isPlatformTool(item)) warnings.add(path, `must be one of ${optionalPlatformTools.join(", ")}`)
    else if (item === "switch_language" && languagesToChoose.length === 0) {
      warnings.add(path, "switch_language needs the field languages, with the languages to choose from")
    } else tools.add(item)
  }
  return [...tools]
}

/** Reads the settings in an answer. `voice`: that of the call. */
export const settingsOf = (answer: Answer, abilities: Abilities, voice: string, warnings: Warnings): CallSettings => {
  const read = fieldReader(warnings, answer)
  const wanted = read("languages", settingFields.languages) ?? []
  const toChoose = languagesOf(wanted, (language) => abilities.voiceFor(voice, language), warnings)
  return {
    turn_taking: turnTakingOf(read("turn_taking", settingFields.turn_taking), warnings),
    first_message_interruptible: read("first_message_interruptible", settingFields.first_message_interruptible) ?? true,
    silence_prompts: silencePromptsOf(read("silence_prompts", settingFields.silence_prompts), warnings),
    model: modelOf(read("model", settingFields.model), abilities, warnings),
    speech: speechOf(read("speech", settingFields.speech), warnings),
    platform_tools: platformToolsIn(read("platform_tools", settingFields.platform_tools) ?? [], toChoose, warnings),
    languages: toChoose
  }
}
