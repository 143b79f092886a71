/** Parameters of a property test for fast-check. */
export interface PropertyRuns {
  readonly numRuns: number
  readonly seed: number
}

const integerIn = (name: string): number | undefined => {
  const value = process.env[name]
  if (value === undefined || value === "") return undefined
  if (!/^-?\d+$/.test(value)) throw new Error(`${name} must be an integer, not ${value}`)
  return Number(value)
}

/** The seed is fixed, so that a commit stays green. `PROPERTY_SEED` and `PROPERTY_RUNS`: see docs/testing.md. */
export const propertyRuns = (numRuns: number): PropertyRuns => ({
  numRuns: integerIn("PROPERTY_RUNS") ?? numRuns,
  seed: integerIn("PROPERTY_SEED") ?? 1
})
