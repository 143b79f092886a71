/**
 * The languages of the platform, which the models know all. A copy, as plugins do not import
 * api.
 */
export const languages: ReadonlyArray<string> = [
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
