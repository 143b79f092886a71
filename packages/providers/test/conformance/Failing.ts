import { Effect, Exit } from "effect"
import type { Check } from "../../src/testing/Check.ts"
import { inVirtualTime } from "../../src/testing/VirtualTime.ts"

/** Runs checks in virtual time and returns the names of those that fail. */
export const failing = (checks: ReadonlyArray<Check>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.forEach(checks, ({ effect, name }) =>
    Effect.map(Effect.exit(inVirtualTime(effect)), (exit) => (Exit.isSuccess(exit) ? [] : [name]))
  ).pipe(Effect.map((names) => names.flat()))

/** Which checks must fail: these, or all but these. */
export type Expected = ReadonlyArray<string> | { readonly allBut: ReadonlyArray<string> }

/** The expected names in the order of the checks. A name that no check has stays in the result. */
export const namesOf = (expected: Expected, checks: ReadonlyArray<Check>): ReadonlyArray<string> => {
  const names = checks.map(({ name }) => name)
  return "allBut" in expected
    ? names.filter((name) => !expected.allBut.includes(name))
    : [...expected].sort((a, b) => names.indexOf(a) - names.indexOf(b))
}
