import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CrossCorrelation } from "../../src/EchoCanceller/CrossCorrelation.ts"

const correlation = new CrossCorrelation(64)
const signal = (most: number) => fc.array(fc.integer({ min: -32_768, max: 32_767 }), { minLength: 1, maxLength: most })

describe("CrossCorrelation", () => {
  it("gives the sums of products at every shift, one call after another", () => {
    fc.assert(
      fc.property(signal(20), signal(64), (short, long) => {
        fc.pre(short.length <= long.length)
        const found = correlation.of(Float32Array.from(short), short.length, Float32Array.from(long), long.length)
        for (let shift = 0; shift <= long.length - short.length; shift++) {
          const sum = short.reduce((total, sample, i) => total + sample * (long[i + shift] ?? 0), 0)
          expect(Math.abs((found[shift] ?? Number.NaN) - sum)).toBeLessThan(0.01)
        }
      }),
      { seed: 4, numRuns: 300 }
    )
  })
})
