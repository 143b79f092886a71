import { objectStoreChecks } from "./ObjectStoreChecks.ts"
import type { ObjectStoreCheckOptions } from "./ObjectStoreHarness.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers the checks of an object store as vitest tests. */
export const objectStoreSuite = (options: SuiteOptions & ObjectStoreCheckOptions): void =>
  suite(options, objectStoreChecks(options))
