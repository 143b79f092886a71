import { describe, expect, it } from "vitest"
import { AudioChunks, encodedSamples } from "../src/AudioChunks.ts"

/** Chunks of so many samples, and what they sent. */
const chunksOf = (encoding: "mulaw" | "pcm16", samples: number) => {
  const sent: Array<Buffer> = []
  return { sent, chunks: new AudioChunks({ encoding, samples, send: (chunk) => void sent.push(chunk) }) }
}
const ramp = (from: number, to: number) => Int16Array.from({ length: to - from }, (_, n) => 100 * (from + n))

describe("AudioChunks", () => {
  it("sends messages of one length, whatever lengths are pushed, and the rest when asked", () => {
    for (const encoding of ["mulaw", "pcm16"] as const) {
      const { chunks, sent } = chunksOf(encoding, 8)
      for (const [from, to] of [
        [0, 3],
        [3, 3],
        [3, 20],
        [20, 21]
      ] as const) {
        chunks.push(ramp(from, to))
      }
      expect([sent.length, chunks.sent]).toEqual([2, 16])
      chunks.flush()
      chunks.flush()
      expect(chunks.sent).toBe(21)
      const bytes = encoding === "mulaw" ? 1 : 2
      expect(sent.map(({ length }) => length / bytes)).toEqual([8, 8, 5])
      expect(Buffer.concat(sent)).toEqual(encodedSamples(encoding, ramp(0, 21)))
    }
  })

  it("writes PCM16 little-endian, and does not write again into what it sent", () => {
    const { chunks, sent } = chunksOf("pcm16", 2)
    chunks.push(Int16Array.of(1, -2, 0x1234, 0))
    expect(sent.map((chunk) => [...chunk])).toEqual([
      [1, 0, 0xfe, 0xff],
      [0x34, 0x12, 0, 0]
    ])
  })
})
