import type { CommandOf } from "@svc/conversation/Command"
import type { TextToSpeech, Voice } from "@svc/providers/TextToSpeech"
import type { Context } from "effect"

type Synthesizer = Context.Tag.Service<TextToSpeech>

/** Who says a text, and by which of its voices. */
export type VoiceFor = (command: Pick<CommandOf<"Speak">, "voice" | "language" | "provider">) => {
  readonly synthesizer: Synthesizer
  readonly voice: string
}

const speaks = (voice: Voice, language: string): boolean =>
  voice.languages === "*" || voice.languages.includes(language)

/**
 * Chooses among synthesizers in the order of preference: first who has the voice, else the `preferred` one. `provider`
 * counts on through the others that speak the language; those have voices of their own, of the same gender if they can.
 */
export const voiceOf =
  (synthesizers: ReadonlyArray<Synthesizer>, preferred: Synthesizer): VoiceFor =>
  ({ language, provider = 0, voice }) => {
    const named = ({ voices }: Synthesizer): Voice | undefined =>
      voices.find((v) => v.name === voice && speaks(v, language))
    const first = synthesizers.find((one) => named(one) !== undefined) ?? preferred
    const others = synthesizers.filter((one) => one !== first && one.voices.some((v) => speaks(v, language)))
    const synthesizer = [first, ...others][provider] ?? first
    if (synthesizer === first || named(synthesizer) !== undefined) return { synthesizer, voice }
    const speaking = synthesizer.voices.filter((v) => speaks(v, language))
    const gender = named(first)?.gender
    return { synthesizer, voice: (speaking.find((v) => v.gender === gender) ?? speaking[0])?.name ?? voice }
  }
