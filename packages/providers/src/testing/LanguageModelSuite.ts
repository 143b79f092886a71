import { type LanguageModelCheckOptions, languageModelChecks } from "./LanguageModelChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers, in vitest, what every language model must do. */
export const languageModelSuite = (options: SuiteOptions & LanguageModelCheckOptions): void =>
  suite(options, languageModelChecks(options))
