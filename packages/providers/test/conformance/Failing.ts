import { Effect, Exit } from "effect"
import type { Check } from "../../src/testing/Check.ts"
import { inVirtualTime } from "../../src/testing/VirtualTime.ts"

/** Runs checks in virtual time; the names of those that fail. */
export const failing = (checks: ReadonlyArray<Check>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.forEach(checks, ({ effect, name }) =>
    Effect.map(Effect.exit(inVirtualTime(effect)), (exit) => (Exit.isSuccess(exit) ? [] : [name]))
  ).pipe(Effect.map((names) => names.flat()))

/** Which checks must fail: these, or all but these. */
export type Expected = ReadonlyArray<string> | { readonly allBut: ReadonlyArray<string> }

/** The names that are expected of a list of checks, in its order. */
export const namesOf = (expected: Expected, checks: ReadonlyArray<Check>): ReadonlyArray<string> =>
  "allBut" in expected ? checks.map(({ name }) => name).filter((name) => !expected.allBut.includes(name)) : expected
