import { type SuiteOptions, suite } from "./Suite.ts"
import { type TextToSpeechCheckOptions, textToSpeechChecks } from "./TextToSpeechChecks.ts"

/** Registers the checks of a text-to-speech provider as vitest tests. */
export const textToSpeechSuite = (options: SuiteOptions & TextToSpeechCheckOptions): void =>
  suite(options, textToSpeechChecks(options))
