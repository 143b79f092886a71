import { languageCode as codeOf, platformLanguages } from "@svc/providers/PlatformLanguages"

/** Models that speak English only (https://elevenlabs.io/docs/models). */
const english: ReadonlyArray<string> = ["eleven_flash_v2", "eleven_turbo_v2", "eleven_monolingual_v1"]

/** The languages of the platform that a model speaks. Models that are not known speak all. */
export const languagesOf = (model: string): "*" | ReadonlyArray<string> => {
  if (english.includes(model)) return ["en-US", "en-GB"]
  // The older multilingual models do not have Norwegian, and the first one lacks others too.
  if (model === "eleven_multilingual_v2") return platformLanguages.filter((language) => language !== "nb-NO")
  if (model === "eleven_multilingual_v1") {
    return platformLanguages.filter((language) =>
      ["en", "fr", "de", "it", "pl", "pt", "es"].includes(language.slice(0, 2))
    )
  }
  return "*"
}

/** The vendor's code of a language (ISO 639-1) for models that take one; the others recognize it in the text. */
export const languageCode = (model: string, language: string): string | undefined => {
  if (english.includes(model) || model.startsWith("eleven_multilingual")) return undefined
  return codeOf(language)
}
