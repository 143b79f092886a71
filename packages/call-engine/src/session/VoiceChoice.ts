import type { Abilities } from "@svc/conversation/answers/CallSettings"
import { isGender } from "@svc/conversation/answers/GatherAnswer"
import type { CommandOf } from "@svc/conversation/Command"
import type { Providers } from "@svc/providers/Providers"
import { findVoice, isVoiceName, type TextToSpeech, type Voice } from "@svc/providers/TextToSpeech"
import type { Context } from "effect"

type Provider = Context.Tag.Service<TextToSpeech>

/** The text-to-speech provider for an utterance, and which of its voices. */
export type ChooseVoice = (command: Pick<CommandOf<"Speak">, "voice" | "language" | "provider">) => {
  readonly provider: Provider
  readonly voice: string
}

/**
 * Resolves `female` and `male` to a voice of that gender that speaks the language, `preferred` before others; if there
 * is none, to a voice of any gender. Other names are returned unchanged.
 */
export type ResolveVoice = (voice: string, language: string, preferred: string) => string

const speaks = (voice: Voice, language: string): boolean =>
  voice.languages === "*" || voice.languages.includes(language)

/** What the voices and language models of all providers can do, at each use: plugins may refresh their lists. */
export const abilitiesOf = ({
  languageModel,
  textToSpeech
}: Pick<Context.Tag.Service<Providers>, "languageModel" | "textToSpeech">): Abilities => ({
  speaks: (voice, language) =>
    textToSpeech.some(({ voices }) => voices.some((v) => isVoiceName(v.name, voice) && speaks(v, language))),
  voiceFor: (voice, language) => {
    const all = textToSpeech.flatMap(({ voices }) => voices)
    const speaking = all.filter((one) => speaks(one, language))
    const gender = findVoice(all, voice)?.gender
    const chosen = findVoice(speaking, voice) ?? speaking.find((one) => one.gender === gender) ?? speaking[0]
    return chosen?.name ?? null
  },
  contextTokens: (model) => languageModel.find(({ models }) => models.includes(model))?.contextTokens?.(model),
  get models() {
    return languageModel.flatMap(({ models }) => models)
  }
})

/**
 * Chooses among providers in the order of preference: the first that has the voice, whatever its case, else `preferred`.
 * The name is that of the provider. Fallbacks
 * (`provider` from 1) are the others that speak the language, with a voice of the same gender where they have one.
 */
export const chooseVoice =
  (providers: ReadonlyArray<Provider>, preferred: Provider): ChooseVoice =>
  ({ language, provider: fallback = 0, voice }) => {
    const named = ({ voices }: Provider): Voice | undefined =>
      findVoice(
        voices.filter((v) => speaks(v, language)),
        voice
      )
    const first = providers.find((one) => named(one) !== undefined) ?? preferred
    const others = providers.filter((one) => one !== first && one.voices.some((v) => speaks(v, language)))
    const provider = [first, ...others][fallback] ?? first
    const same = named(provider)
    if (provider === first || same !== undefined) return { provider, voice: same?.name ?? voice }
    const speaking = provider.voices.filter((v) => speaks(v, language))
    const gender = named(first)?.gender
    return { provider, voice: (speaking.find((v) => v.gender === gender) ?? speaking[0])?.name ?? voice }
  }

export const resolveVoice =
  (providers: ReadonlyArray<Provider>): ResolveVoice =>
  (voice, language, preferred) => {
    if (!isGender(voice)) return voice
    const speaking = providers.flatMap(({ voices }) => voices.filter((v) => speaks(v, language)))
    const sameGender = speaking.filter(({ gender }) => gender === voice)
    const candidates = sameGender.length > 0 ? sameGender : speaking
    return findVoice(candidates, preferred)?.name ?? candidates[0]?.name ?? preferred
  }
