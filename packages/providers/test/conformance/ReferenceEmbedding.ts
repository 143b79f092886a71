import { Effect, Layer } from "effect"
import { Embedding, EmbeddingError } from "../../src/Embedding.ts"
import { healthy } from "../../src/Health.ts"

/** Faults of an embedding provider. */
export type EmbeddingBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "declares no model"
  | "declares half a dimension"
  | "declares no limit"
  | "drops the last vector"
  | "reverses the vectors"
  | "returns other dimensions"
  | "returns arrays"
  | "returns zeros"
  | "returns NaN"
  | "returns random vectors"
  | "turns texts around"
  | "fails for long texts"
  | "fails for many texts"
  | "fails for characters beyond latin-1"
  | "dies without texts"
  | "mixes requests"
  | "reuses its array"
  | "leaks fibers"
  | "ignores interruption"
  | "answers although the peer failed"

/** The behaviour of the peer. */
export type Peer = "works" | "refuses" | "hangs"

const dimensions = 64

/** Counts of letters and of pairs of letters. */
const vectorOf = (text: string): Float32Array => {
  const vector = new Float32Array(dimensions)
  const codes = [...text.toLowerCase()].map((letter) => letter.codePointAt(0) ?? 0)
  for (const [index, code] of codes.entries()) {
    for (const hash of [code, code * 31 + (codes[index - 1] ?? 0)]) {
      vector[hash % dimensions] = (vector[hash % dimensions] ?? 0) + 1
    }
  }
  return vector
}

/** A provider in memory. */
export const referenceEmbedding = (bug?: EmbeddingBug, peer: Peer = "works"): Layer.Layer<Embedding> => {
  const is = (...bugs: ReadonlyArray<EmbeddingBug>) => bug !== undefined && bugs.includes(bug)
  const broken = new EmbeddingError({ reason: "the peer failed", retryable: true })
  const reused = new Float32Array(dimensions)
  let current: ReadonlyArray<string> = []
  let random = 1

  const vector = (text: string): Float32Array => {
    if (is("returns other dimensions")) return new Float32Array(dimensions - 1).fill(1)
    // A plugin in plain JavaScript can return what the types forbid.
    if (is("returns arrays")) return [...vectorOf(text)] as unknown as Float32Array
    if (is("returns zeros")) return new Float32Array(dimensions)
    if (is("returns NaN")) return vectorOf(text).fill(Number.NaN, 0, 1)
    if (is("returns random vectors")) {
      return vectorOf(text).map(() => {
        random = (random * 48_271) % 2_147_483_647
        return random / 2_147_483_647 - 0.5
      })
    }
    if (is("turns texts around") && text.startsWith("The shop opens at ten")) return vectorOf(text).map((x) => -x)
    if (!is("reuses its array")) return vectorOf(text)
    reused.set(vectorOf(text))
    return reused
  }

  const embed = (texts: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      if (is("dies")) return yield* Effect.die("x is undefined")
      if (is("hangs") || peer === "hangs") return yield* Effect.never
      if (is("fails") || (peer === "refuses" && !is("answers although the peer failed"))) return yield* broken
      if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
      if (is("fails for long texts") && texts.some(({ length }) => length > 500)) return yield* broken
      if (is("fails for many texts") && texts.length > 8) return yield* broken
      if (is("fails for characters beyond latin-1") && texts.some((text) => /[^\0-\xff]/.test(text))) {
        return yield* broken
      }
      if (is("dies without texts") && texts.length === 0) return yield* Effect.die("texts[0] is undefined")
      current = texts
      yield* Effect.sleep(1)
      const vectors = (is("mixes requests") ? current : texts).map(vector)
      if (is("drops the last vector")) return vectors.slice(0, -1)
      return is("reverses the vectors") ? vectors.reverse() : vectors
    })

  return Layer.succeed(Embedding, {
    id: "reference",
    model: is("declares no model") ? "" : "letters-1",
    dimensions: is("declares half a dimension") ? 0.5 : dimensions,
    limits: { texts: is("declares no limit") ? Number.NaN : 16, characters: 1000 },
    health: Effect.succeed(healthy),
    embed: (texts) => {
      if (is("throws")) throw new Error("no such model")
      return is("ignores interruption") ? Effect.uninterruptible(embed(texts)) : embed(texts)
    }
  })
}
