import { expect, it } from "@effect/vitest"
import { bytesOf, codeBytes, codeOf, cosine, nearest, unitVector } from "../../src/vectors/VectorCodes.ts"

/** Deterministic numbers from -1 to 1. */
const randomOf = (seed: number) => () => {
  seed = (seed * 48_271) % 2_147_483_647
  return (seed / 2_147_483_647) * 2 - 1
}

const unit = (vector: ArrayLike<number>): Float32Array => unitVector(vector) ?? expect.fail("no direction")

const all = <A>(steps: Generator<undefined, A>): { readonly value: A; readonly steps: number } => {
  let count = 1
  let step = steps.next()
  while (step.done !== true) {
    count++
    step = steps.next()
  }
  return { value: step.value, steps: count }
}

it("a unit vector has the direction of the vector and the length 1, also of very large and small numbers", () => {
  expect([...unit([3, 0, -4])].map((value) => Math.round(value * 1000) / 1000)).toEqual([0.6, 0, -0.8])
  for (const scale of [1e30, 1e-30]) {
    expect(cosine(unit([3 * scale, -4 * scale]), bytesOf(unit([3, -4])))).toBeCloseTo(1, 5)
  }
})

it("a vector without a direction has no unit vector", () => {
  for (const vector of [[], [0, 0], [Number.NaN, 1], [1, Number.POSITIVE_INFINITY], [Number.NaN, Number.NaN]]) {
    expect(unitVector(vector), String(vector)).toBeUndefined()
  }
})

it("a stored vector compares by its cosine, wherever its bytes are", () => {
  const bytes = new Uint8Array(9)
  bytes.set(bytesOf(unit([3, 4])), 1)
  const stored = bytes.subarray(1)
  for (const [vector, expected] of [
    [[3, 4], 1],
    [[-3, -4], -1],
    [[4, -3], 0],
    [[1, 0], 0.6]
  ] as const) {
    expect(cosine(unit(vector), stored)).toBeCloseTo(expected, 5)
  }
})

it("a code has as many bits for each number as are possible in 192 bytes, at least one", () => {
  expect([1, 256, 384, 385, 768, 769, 1536, 4096].map(codeBytes)).toEqual([4, 128, 192, 100, 192, 100, 192, 512])
  // 4 bits: 8 is the first value that is not negative.
  expect([...codeOf(Float32Array.of(1, -1, 0, 2))]).toEqual([0x2d, 0xf8, 0, 0])
  const wide = new Float32Array(1536).fill(-1)
  wide.set([1, -1, -1, 1])
  expect([...codeOf(wide).subarray(0, 2)]).toEqual([0b1001, 0])
})

it.each([7, 256, 768, 1536])(
  "nine of the ten nearest of 2,000 passages are among the best 40 by codes of %i dimensions",
  (dimensions) => {
    const random = randomOf(dimensions)
    const noise = () => Float32Array.from({ length: dimensions }, random)
    const subjects = Array.from({ length: 10 }, noise)
    // Passages are about one of 10 subjects more or less, as those of a real base.
    const vectors = Array.from({ length: 2000 }, (_, n) => {
      const subject = subjects[n % 10] ?? noise()
      const strength = Math.abs(random())
      return unit(noise().map((value, at) => value + strength * (subject[at] ?? 0)))
    })
    const bases = [0, 1].map((base_id) => {
      const own = vectors.slice(1000 * base_id, 1000 * (base_id + 1))
      return {
        base_id,
        positions: Uint16Array.from(own.keys()),
        codes: Uint8Array.from(own.flatMap((vector) => [...codeOf(vector)]))
      }
    })
    let shared = 0
    for (const subject of subjects) {
      const query = unit(noise().map((value, at) => 0.7 * value + (subject[at] ?? 0)))
      const found = new Set(
        all(nearest(query, bases, 40)).value.map(({ base_id, position }) => 1000 * base_id + position)
      )
      const best = vectors
        .map((vector, n) => ({ n, score: cosine(query, bytesOf(vector)) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 10)
      shared += best.filter(({ n }) => found.has(n)).length
    }
    expect(shared).toBeGreaterThanOrEqual(90)
  }
)

it("codes of many passages are compared in several steps, and the best come first", () => {
  const codes = new Uint8Array(192 * 10_000)
  codes.fill(255, 192 * 5000, 192 * 5001)
  const positions = Uint16Array.from({ length: 10_000 }, (_, n) => n)
  const { steps, value } = all(nearest(unit(new Array(1536).fill(1)), [{ base_id: 7, positions, codes }], 3))
  expect(steps).toBeGreaterThan(1)
  expect(value).toHaveLength(3)
  expect(value[0]).toMatchObject({ base_id: 7, position: 5000 })
})
