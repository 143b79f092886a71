import { type ObjectStoreCheckOptions, objectStoreChecks } from "./ObjectStoreChecks.ts"
import { type SuiteOptions, suite } from "./Suite.ts"

/** Registers, in vitest, what every object store must do. */
export const objectStoreSuite = (options: SuiteOptions & ObjectStoreCheckOptions): void =>
  suite(options, objectStoreChecks(options))
