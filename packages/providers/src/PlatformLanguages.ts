/** The languages that an agent of the platform can speak, BCP-47. A plugin may have fewer, or others. */
export const platformLanguages: ReadonlyArray<string> = [
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

/**
 * The code of a language at vendors that name it without a region (ISO 639-1): `de` for `de-DE`. Both kinds of Norwegian are
 * `no`, the only code that vendors have for them.
 */
export const languageCode = (language: string): string => {
  const [code = ""] = language.toLowerCase().split("-")
  return code === "nb" || code === "nn" ? "no" : code
}
