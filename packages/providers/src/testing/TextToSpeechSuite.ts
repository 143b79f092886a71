import { type SuiteOptions, suite } from "./Suite.ts"
import { type TextToSpeechCheckOptions, textToSpeechChecks } from "./TextToSpeechChecks.ts"

/** Registers, in vitest, what every text-to-speech provider must do. */
export const textToSpeechSuite = (options: SuiteOptions & TextToSpeechCheckOptions): void =>
  suite(options, textToSpeechChecks(options))
