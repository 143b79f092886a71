import { type Draft, patch } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { languageOf } from "../State.ts"
import * as Listening from "./Listening.ts"

/**
 * The language of a call changes among `languages` of its configuration: by the tool `switch_language`, and when
 * speech-to-text detects that the caller speaks another of them.
 *
 * | at the end of the caller's turn | then |
 * |---|---|
 * | most of its words, and at least {@link certainWords}, were detected in another language | the language changes |
 * | most of its words were, but they are fewer | it is remembered; the language changes if the next turn is in it too |
 * | otherwise | what was remembered is forgotten |
 *
 * So one stray word changes nothing. The change comes before the model is asked: the answer has the new voice.
 */

/** Words of one turn that make a detected language certain. */
export const certainWords = 3

/** From now on speech-to-text hears the language, the voice for it speaks, and fixed phrases are in it. */
const change = (d: Draft, language: string, voice: string): void => {
  const { config } = d.state
  if (config === null || languageOf(d.state) === language) return
  patch(d, { config: { ...config, language, voice } })
  if (d.state.listening) Listening.listen(d)
}

/** `switch_language`. Returns the result of the tool. */
export const choose = (d: Draft, args: { readonly [name: string]: unknown }): { readonly [name: string]: string } => {
  const choices = d.state.config?.languages ?? []
  const chosen = choices.find(({ language }) => language === args["language"])
  if (chosen === undefined)
    return { error: `language must be one of ${choices.map(({ language }) => language).join(", ")}.` }
  change(d, chosen.language, chosen.voice)
  return { language: chosen.language }
}

const tagOf = (language: string): string => language.replaceAll("_", "-").toLowerCase()
const primaryOf = (language: string): string => tagOf(language).split("-")[0] ?? ""

/** What a detected language is for this call: one of its choices, or the language that it has; null: neither. */
const known = (d: Draft, detected: string): string | null => {
  const choices = (d.state.config?.languages ?? []).map(({ language }) => language)
  const current = languageOf(d.state)
  return (
    choices.find((language) => tagOf(language) === tagOf(detected)) ??
    [current, ...choices].find((language) => primaryOf(language) === primaryOf(detected)) ??
    null
  )
}

/** Counts the words of a final transcript for the language that was detected in them. */
export const onFinal = (d: Draft, { language, text }: InputOf<"CallerFinal">): void => {
  const count = text.split(/\s+/).filter((word) => word !== "").length
  if (language === undefined || count === 0 || (d.state.config?.languages.length ?? 0) === 0) return
  const { before, words } = d.state.detected
  const key = known(d, language) ?? ""
  patch(d, { detected: { before, words: { ...words, [key]: (words[key] ?? 0) + count } } })
}

/** The caller's turn is over. */
export const onTurn = (d: Draft): void => {
  const { before, words } = d.state.detected
  const counts = Object.entries(words)
  if (counts.length === 0) return
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  const [spoken, count] = counts.find(([, n]) => n * 2 > total) ?? ["", 0]
  const chosen = d.state.config?.languages.find(({ language }) => language === spoken)
  const isOther = chosen !== undefined && spoken !== languageOf(d.state)
  const isCertain = isOther && (count >= certainWords || before === spoken)
  patch(d, { detected: { before: isOther && !isCertain ? spoken : null, words: {} } })
  if (!isCertain || d.state.ended_at !== null) return
  change(d, chosen.language, chosen.voice)
}
