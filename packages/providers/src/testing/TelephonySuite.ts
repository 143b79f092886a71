import { type SuiteOptions, suite } from "./Suite.ts"
import type { TelephonyCheckOptions } from "./TelephonyBench.ts"
import { telephonyChecks } from "./TelephonyChecks.ts"

/** Registers, in vitest, what every telephony provider must do. */
export const telephonySuite = (options: SuiteOptions & TelephonyCheckOptions): void =>
  suite(options, telephonyChecks(options))
