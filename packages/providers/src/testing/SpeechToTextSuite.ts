import { type SpeechToTextCheckOptions, speechToTextChecks } from "./SpeechToTextChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers the checks of a speech-to-text provider as vitest tests. */
export const speechToTextSuite = (options: SuiteOptions & SpeechToTextCheckOptions): void =>
  suite(options, speechToTextChecks(options))
