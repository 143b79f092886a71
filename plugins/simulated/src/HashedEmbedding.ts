import { Embedding } from "@svc/providers/Embedding"
import { healthy } from "@svc/providers/Health"
import { Effect, Layer } from "effect"
import { hashOf } from "./Hash.ts"

const dimensions = 256

/** Words without case and diacritics, each between spaces, so that its n-grams know where it begins and ends. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * The vector of a text: its words and their n-grams of 3 to 5 characters, each added at a place and with a sign that
 * its hash decides; then divided by its length. Texts that share words, or parts of words, are near each other.
 */
export const hashedVector = (text: string): Float32Array => {
  const vector = new Float32Array(dimensions)
  const add = (feature: string, weight: number) => {
    const at = hashOf(feature)
    vector[at % dimensions] = (vector[at % dimensions] ?? 0) + (at & 0x8000_0000 ? -weight : weight)
  }
  for (const word of wordsOf(text)) {
    // Short words say little of what a text is about.
    add(` ${word} `, word.length > 3 ? 2 : 0.5)
    const padded = ` ${word} `
    for (const size of [3, 4, 5]) {
      for (let i = 0; i + size <= padded.length; i++) add(padded.slice(i, i + size), 0.5)
    }
  }
  const length = Math.hypot(...vector)
  // A text without words, such as an emoji: one place, by all of it.
  if (length === 0) vector[hashOf(text) % dimensions] = 1
  return length === 0 ? vector : vector.map((value) => value / length)
}

/** An embedding provider without a model: deterministic, and near means that words are alike, not their meaning. */
export const HashedEmbedding: Layer.Layer<Embedding> = Layer.succeed(Embedding, {
  id: "simulated",
  model: "hashed-n-grams-1",
  dimensions,
  limits: { texts: 64, characters: 8000 },
  health: Effect.succeed(healthy),
  // Timers run between two texts, those that pace calls among them: a text takes up to a millisecond.
  embed: (texts) =>
    Effect.forEach(texts, (text, index) =>
      Effect.map(index === 0 ? Effect.yieldNow() : Effect.sleep(0), () => hashedVector(text))
    )
})
