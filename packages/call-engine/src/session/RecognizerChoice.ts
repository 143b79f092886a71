import type { SpeechToText } from "@svc/providers/SpeechToText"
import type { Context } from "effect"

type Provider = Context.Tag.Service<SpeechToText>

const tagOf = (language: string): string => language.toLowerCase()
const primaryOf = (language: string): string => tagOf(language).split("-")[0] ?? ""

/** Whether a provider has a language: the same, or the same without a region. */
const hears = ({ capabilities: { languages } }: Provider, language: string): boolean =>
  languages.some((one) => tagOf(one) === tagOf(language) || tagOf(one) === primaryOf(language))

/**
 * The speech-to-text provider for a language, among those that have it in the order of preference, the last of them for
 * higher indexes; where none has it, among all. `index`: 0 is the first of these, fallbacks are from 1.
 */
export const chooseRecognizer = (
  providers: ReadonlyArray<Provider>,
  language: string,
  index = 0
): Provider | undefined => {
  const hearing = providers.filter((one) => hears(one, language))
  return hearing.length === 0 ? providers[index] : hearing[Math.min(index, hearing.length - 1)]
}
