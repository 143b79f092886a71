import { type EmbeddingCheckOptions, embeddingChecks } from "./EmbeddingChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers the checks of an embedding provider as vitest tests. */
export const embeddingSuite = (options: SuiteOptions & EmbeddingCheckOptions): void =>
  suite(options, embeddingChecks(options))
