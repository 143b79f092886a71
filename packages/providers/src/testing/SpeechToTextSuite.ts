import { type SpeechToTextCheckOptions, speechToTextChecks } from "./SpeechToTextChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers, in vitest, what every speech-to-text provider must do. */
export const speechToTextSuite = (options: SuiteOptions & SpeechToTextCheckOptions): void =>
  suite(options, speechToTextChecks(options))
