/** The languages that the simulated voice and ear know: all that the platform supports (spec 2.4). */
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
