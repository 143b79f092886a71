/** The languages of the platform. A copy, because plugins do not import `@svc/api`. */
const all: ReadonlyArray<string> = [
  "en-US",
  "en-GB",
  "es-ES",
  "nl-NL",
  "de-DE",
  "fr-FR",
  "it-IT",
  "pt-PT",
  "pl-PL",
  "sv-SE",
  "da-DK",
  "nb-NO",
  "fi-FI"
]

/** Whether a model is of the generation before `sonic-3` (https://docs.cartesia.ai/build-with-cartesia/tts-models/older-models). */
export const isOlder = (model: string): boolean => /^sonic(-2|-turbo|-\d{4}|$)/.test(model)

/** The languages of the platform that a model speaks. */
export const languagesOf = (model: string): ReadonlyArray<string> =>
  isOlder(model) ? all.filter((language) => !["da-DK", "nb-NO", "fi-FI"].includes(language)) : all

/** The vendor's code of a language (ISO 639-1). */
export const vendorLanguage = (language: string): string => {
  const [code = ""] = language.split("-")
  return code === "nb" || code === "nn" ? "no" : code
}
