import { Providers } from "@svc/providers/Providers"
import type { Voice } from "@svc/providers/TextToSpeech"
import { Context, Effect, Layer } from "effect"

/** The default voice; it speaks every language whether or not a plugin says so (decisions §3.6). */
const sarah: Voice = { name: "Sarah", languages: "*", gender: "female" }

const speaks = (voice: Voice, language: string): boolean =>
  voice.languages === "*" || voice.languages.includes(language)

/** Two plugins may have a voice of the same name: it then speaks the languages of both. */
const both = (a: Voice, b: Voice): Voice => ({
  ...a,
  languages: a.languages === "*" || b.languages === "*" ? "*" : [...new Set([...a.languages, ...b.languages])]
})

/** The voices of the loaded text-to-speech plugins (decisions §3.6). Names are case-sensitive. */
export class Voices extends Context.Tag("@svc/agents/Voices")<
  Voices,
  {
    /** Whether an agent of this language may have this voice. `Sarah` speaks every language. */
    readonly isValid: (voice: string, language: string) => boolean
    /** All voices, or those of one language; one entry per name, in the order of the plugins, `Sarah` first. */
    readonly list: (language?: string) => ReadonlyArray<Voice>
  }
>() {
  static readonly layer: Layer.Layer<Voices, never, Providers> = Layer.effect(
    Voices,
    Effect.map(Providers, ({ textToSpeech }) => {
      const byName = new Map([[sarah.name, sarah]])
      for (const voice of textToSpeech.flatMap((plugin) => plugin.voices)) {
        const known = byName.get(voice.name)
        // Gender is the plugin's to say, also of Sarah.
        byName.set(
          voice.name,
          known === undefined || known === sarah ? both(voice, known ?? voice) : both(known, voice)
        )
      }
      const voices = [...byName.values()]
      return {
        isValid: (name, language) => {
          const voice = byName.get(name)
          return voice !== undefined && speaks(voice, language)
        },
        list: (language) => (language === undefined ? voices : voices.filter((voice) => speaks(voice, language)))
      }
    })
  )
}
