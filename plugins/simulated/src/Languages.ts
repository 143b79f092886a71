import { platformLanguages } from "@svc/providers/PlatformLanguages"

/** The languages of the simulated speech providers: all that the platform supports. */
export const languages = platformLanguages
