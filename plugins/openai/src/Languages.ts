/** The languages of the platform, all of which the models know. A copy, because plugins do not import `@svc/api`. */
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
