/** The platform's languages (BCP-47), and the codes of Nova-3 (developers.deepgram.com/docs/models-languages-overview). */
const novaCodes: ReadonlyMap<string, string> = new Map([
  ["en-US", "en-US"],
  ["en-GB", "en-GB"],
  ["es-ES", "es"],
  ["nl-NL", "nl"],
  ["de-DE", "de"],
  ["fr-FR", "fr"],
  ["it-IT", "it"],
  ["pt-PT", "pt-PT"],
  ["pl-PL", "pl"],
  ["sv-SE", "sv-SE"],
  ["da-DK", "da-DK"],
  ["nb-NO", "no"],
  ["fi-FI", "fi"]
])

export const languages: ReadonlyArray<string> = [...novaCodes.keys()]

/** The code for Nova of a language; of one that is not the platform's, the language itself. */
export const novaCode = (language: string): string => novaCodes.get(language) ?? language

/** A language without its region. */
export const baseOf = (language: string): string => (language.split("-")[0] ?? language).toLowerCase()

const fluxLanguages = ["en", "es", "fr", "de", "hi", "ru", "pt", "ja", "it", "nl"]

/** Whether a model of Flux knows a language (developers.deepgram.com/docs/flux/language-prompting). */
export const fluxKnows = (model: string, language: string): boolean =>
  model.endsWith("-en") ? baseOf(language) === "en" : fluxLanguages.includes(baseOf(language))
