import { type LanguageModelCheckOptions, languageModelChecks } from "./LanguageModelChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers the checks of a language model as vitest tests. */
export const languageModelSuite = (options: SuiteOptions & LanguageModelCheckOptions): void =>
  suite(options, languageModelChecks(options))
