import { platformLanguages } from "@svc/providers/PlatformLanguages"

/** Whether a model is of the generation before `sonic-3` (https://docs.cartesia.ai/build-with-cartesia/tts-models/older-models). */
export const isOlder = (model: string): boolean => /^sonic(-2|-turbo|-\d{4}|$)/.test(model)

/** The languages of the platform that a model speaks. */
export const languagesOf = (model: string): ReadonlyArray<string> =>
  isOlder(model)
    ? platformLanguages.filter((language) => !["da-DK", "nb-NO", "fi-FI"].includes(language))
    : platformLanguages
