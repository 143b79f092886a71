import { describe, it } from "@effect/vitest"
import type { Check } from "./Check.ts"
import { inVirtualTime } from "./VirtualTime.ts"

export interface SuiteOptions {
  /** The heading in vitest's report. */
  readonly name: string
  /** `real` by default, which providers with sockets need. `virtual`: see {@link inVirtualTime}. */
  readonly time?: "real" | "virtual"
}

/** Registers checks as vitest tests under one heading. */
export const suite = (options: SuiteOptions, checks: ReadonlyArray<Check>): void => {
  describe(options.name, () => {
    for (const { effect, name } of checks) {
      it.live(name, () => (options.time === "virtual" ? inVirtualTime(effect) : effect), 120_000)
    }
  })
}
