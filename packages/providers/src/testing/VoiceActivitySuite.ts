import { type SuiteOptions, suite } from "./Suite.ts"
import { type VoiceActivityCheckOptions, voiceActivityChecks } from "./VoiceActivityChecks.ts"

/** Registers the checks of a voice activity detector as vitest tests. */
export const voiceActivitySuite = (options: SuiteOptions & VoiceActivityCheckOptions): void =>
  suite(options, voiceActivityChecks(options))
