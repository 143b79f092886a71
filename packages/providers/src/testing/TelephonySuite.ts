import { type SuiteOptions, suite } from "./Suite.ts"
import { telephonyChecks } from "./TelephonyChecks.ts"
import type { TelephonyCheckOptions } from "./TelephonyHarness.ts"

/** Registers the checks of a telephone network as vitest tests. */
export const telephonySuite = (options: SuiteOptions & TelephonyCheckOptions): void =>
  suite(options, telephonyChecks(options))
