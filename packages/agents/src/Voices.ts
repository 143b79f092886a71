import { type Language, languages } from "@svc/api/agents/Language"
import { Providers } from "@svc/providers/Providers"
import type { Voice } from "@svc/providers/TextToSpeech"
import { Context, Effect, Layer } from "effect"

/** A voice in one language that it speaks. */
export interface SpokenVoice {
  readonly name: string
  readonly language: Language
  readonly gender: Voice["gender"]
}

/** The default voice; it speaks every language whether or not a plugin says so. */
const sarah: Voice = { name: "Sarah", languages: "*", gender: "female" }

/** Two plugins may have a voice of the same name: it then speaks the languages of both. */
const merge = (a: Voice, b: Voice): Voice => ({
  ...a,
  languages: a.languages === "*" || b.languages === "*" ? "*" : [...a.languages, ...b.languages]
})

/** The platform's languages among those that a voice speaks, in the voice's order. */
const languagesSpokenBy = (voice: Voice): ReadonlyArray<Language> =>
  voice.languages === "*"
    ? languages
    : [...new Set(voice.languages.flatMap((tag) => languages.filter((language) => language === tag)))]

/** The voices of the loaded text-to-speech plugins. Names are case-sensitive. */
export class Voices extends Context.Tag("@svc/agents/Voices")<
  Voices,
  {
    /** Whether an agent of this language may have this voice. `Sarah` speaks every language. */
    readonly isValid: (voice: string, language: string) => boolean
    /**
     * All voices, or those of one language: one entry for each name and language. `Sarah` first, then in the order of
     * the plugins; the languages of a voice in the voice's own order.
     */
    readonly list: (language?: Language) => ReadonlyArray<SpokenVoice>
    /** The languages that a voice speaks, its own first; none when there is no such voice. */
    readonly languagesOf: (voice: string) => ReadonlyArray<Language>
  }
>() {
  static readonly layer: Layer.Layer<Voices, never, Providers> = Layer.effect(
    Voices,
    Effect.map(Providers, ({ textToSpeech }) => {
      const byName = new Map([[sarah.name, sarah]])
      for (const voice of textToSpeech.flatMap((plugin) => plugin.voices)) {
        const known = byName.get(voice.name)
        // The plugin decides about the gender, also of Sarah.
        byName.set(
          voice.name,
          known === undefined || known === sarah ? merge(voice, known ?? voice) : merge(known, voice)
        )
      }
      const spoken = new Map([...byName.values()].map((voice) => [voice.name, languagesSpokenBy(voice)] as const))
      const all = [...byName.values()].flatMap(({ gender, name }) =>
        (spoken.get(name) ?? []).map((language): SpokenVoice => ({ name, language, gender }))
      )
      const languagesOf = (name: string): ReadonlyArray<Language> => spoken.get(name) ?? []
      return {
        isValid: (name, language) => languagesOf(name).some((one) => one === language),
        list: (language) => (language === undefined ? all : all.filter((voice) => voice.language === language)),
        languagesOf
      }
    })
  )
}
