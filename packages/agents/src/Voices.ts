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

/** What is known of the voices, as the plugins have them now. */
interface VoiceList {
  readonly all: ReadonlyArray<SpokenVoice>
  /** By name in lower case. */
  readonly byName: ReadonlyMap<string, { readonly name: string; readonly languages: ReadonlyArray<Language> }>
}

const listOf = (voices: ReadonlyArray<Voice>): VoiceList => {
  const merged = new Map([[sarah.name.toLowerCase(), sarah]])
  for (const voice of voices) {
    const key = voice.name.toLowerCase()
    const known = merged.get(key)
    // The plugin decides about the gender, also of Sarah.
    merged.set(
      key,
      known === undefined || known === sarah
        ? { ...merge(voice, known ?? voice), name: (known ?? voice).name }
        : merge(known, voice)
    )
  }
  const spoken = [...merged].map(([key, voice]) => ({ key, voice, languages: languagesSpokenBy(voice) }))
  return {
    all: spoken.flatMap(({ languages, voice: { gender, name } }) =>
      languages.map((language): SpokenVoice => ({ name, language, gender }))
    ),
    byName: new Map(spoken.map(({ key, languages, voice: { name } }) => [key, { name, languages }]))
  }
}

/**
 * The voices of the loaded text-to-speech plugins, which may change while the server runs. Case of names is ignored; a
 * name is written as the first plugin that has it writes it.
 */
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
    /** The name as it is listed, and the languages that the voice speaks, its own first; undefined: no such voice. */
    readonly find: (voice: string) => { readonly name: string; readonly languages: ReadonlyArray<Language> } | undefined
  }
>() {
  static readonly layer: Layer.Layer<Voices, never, Providers> = Layer.effect(
    Voices,
    Effect.map(Providers, ({ textToSpeech }) => {
      let sources: ReadonlyArray<ReadonlyArray<Voice>> = []
      let list = listOf([])
      /** Made anew only after a plugin got other voices. */
      const current = (): VoiceList => {
        const now = textToSpeech.map(({ voices }) => voices)
        if (now.length !== sources.length || now.some((voices, index) => voices !== sources[index])) {
          sources = now
          list = listOf(now.flat())
        }
        return list
      }
      const find = (voice: string) => current().byName.get(voice.toLowerCase())
      return {
        isValid: (name, language) => find(name)?.languages.some((one) => one === language) ?? false,
        list: (language) => current().all.filter((voice) => language === undefined || voice.language === language),
        find
      }
    })
  )
}
