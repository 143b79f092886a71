import { Schema } from "effect"

/** The languages an agent can speak. */
export const languages = [
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
] as const
export const Language = Schema.Literal(...languages).annotations({
  message: () => ({ message: "language must be a supported BCP-47 code", override: true })
})
export type Language = typeof Language.Type
