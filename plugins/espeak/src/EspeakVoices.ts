import type { Voice } from "@svc/providers/TextToSpeech"

/** The languages of the platform, and the names of their voices in espeak-ng, of which one exists in each version. */
const languages: ReadonlyArray<readonly [language: string, espeak: ReadonlyArray<string>]> = [
  ["en-US", ["en-us"]],
  ["en-GB", ["en-gb"]],
  ["es-ES", ["es"]],
  ["nl-NL", ["nl"]],
  ["de-DE", ["de"]],
  ["fr-FR", ["fr-fr", "fr"]],
  ["it-IT", ["it"]],
  ["pt-PT", ["pt-pt", "pt"]],
  ["pl-PL", ["pl"]],
  ["sv-SE", ["sv"]],
  ["da-DK", ["da"]],
  ["nb-NO", ["nb", "no"]],
  ["fi-FI", ["fi"]]
]

/** What is changed in the voice of a language. The voice itself is male. */
const variants = [
  { suffix: "female", variant: "f3", gender: "female" },
  { suffix: "male", variant: undefined, gender: "male" },
  { suffix: "female-2", variant: "f2", gender: "female" },
  { suffix: "male-2", variant: "m3", gender: "male" }
] as const

/** The voices of the platform, and what the program calls them. */
export interface EspeakVoices {
  readonly voices: ReadonlyArray<Voice>
  /** The value of `-v` for a voice that speaks a language; else the reason why there is none. */
  readonly argumentOf: (voice: string, language: string) => { readonly argument: string } | { readonly problem: string }
}

/** The columns of a line of `espeak-ng --voices`: priority, language, age and gender, name, file. */
const line = /^\s*\d+\s+(\S+)\s+\S+\s+\S+\s+(\S+)/

const columns = (table: string): ReadonlyArray<readonly [language: string, file: string]> =>
  table.split("\n").flatMap((text) => {
    const [, language, file] = line.exec(text) ?? []
    return language === undefined || file === undefined ? [] : [[language, file] as const]
  })

/**
 * The voices of which the program has all files. It ignores a variant that does not exist, and every variant of a voice
 * that is named by its language: so voices are named by their files, and nothing else is accepted.
 *
 * @param voiceTable the output of `espeak-ng --voices`
 * @param variantTable the output of `espeak-ng --voices=variant`
 */
export const espeakVoices = (voiceTable: string, variantTable: string): EspeakVoices => {
  const files = new Map(columns(voiceTable))
  const variantFiles = new Set(columns(variantTable).map(([, file]) => file.replace(/^!v\//, "")))
  const known = languages.flatMap(([language, names]) => {
    const file = names.map((name) => files.get(name)).find((found) => found !== undefined)
    return file === undefined ? [] : [{ language, file }]
  })
  const usable = variants.filter(({ variant }) => variant === undefined || variantFiles.has(variant))
  const [first] = usable
  const byName = new Map(
    known.flatMap(({ file, language }) =>
      usable.map(({ gender, suffix, variant }) => {
        const voice: Voice = { name: `espeak-${language}-${suffix}`, languages: [language], gender }
        return [voice.name.toLowerCase(), { voice, argument: variant === undefined ? file : `${file}+${variant}` }]
      })
    )
  )
  const spoken = known.map(({ language }) => language)
  const sarah: ReadonlyArray<Voice> =
    first === undefined || spoken.length === 0
      ? []
      : [{ name: "Sarah", languages: spoken.length === languages.length ? "*" : spoken, gender: "female" }]

  return {
    voices: [...sarah, ...[...byName.values()].map(({ voice }) => voice)],
    argumentOf: (name, language) => {
      if (!spoken.includes(language)) return { problem: `the language "${language}" is not supported` }
      const asked = name.toLowerCase()
      const found = byName.get(asked === "sarah" ? `espeak-${language}-${first?.suffix}`.toLowerCase() : asked)
      if (found === undefined) return { problem: `there is no voice "${name}"` }
      return found.voice.languages.includes(language)
        ? { argument: found.argument }
        : { problem: `the voice "${found.voice.name}" does not speak ${language}` }
    }
  }
}
