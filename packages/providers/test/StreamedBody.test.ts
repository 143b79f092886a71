import { Readable } from "node:stream"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Pcm16Reader } from "../src/Pcm16Reader.ts"
import { streamedBody, wholeText } from "../src/StreamedBody.ts"

const failed = (why: unknown) => ({ _tag: "Broken", why })
const bodyOf = (...pieces: ReadonlyArray<string>) => Readable.from(pieces.map((piece) => Buffer.from(piece)))

describe("the body of an answer", () => {
  it.live("is read piece by piece, to its end, which is reported once", () =>
    Effect.gen(function* () {
      let ends = 0
      const next = streamedBody({ body: bodyOf("a", "b"), failed, onEnd: () => ends++ })
      expect([String(yield* next), String(yield* next), ends]).toEqual(["a", "b", 0])
      expect([yield* next, ends]).toEqual([null, 1])
    })
  )

  it.live("that breaks fails with the typed error, also when nothing is read at that time", () =>
    Effect.gen(function* () {
      const body = new Readable({ read: () => {} })
      const next = streamedBody({ body, failed })
      body.push(Buffer.from("a"))
      expect(String(yield* next)).toBe("a")
      body.destroy(new Error("gone"))
      expect(yield* Effect.flip(next)).toMatchObject({ _tag: "Broken", why: { message: "gone" } })
    })
  )

  it.live("is a text as a whole, which may be cut within a character, of so many bytes at most", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from("größer")
      const pieces = () => streamedBody({ body: Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]), failed })
      const tooLong = () => failed("too long")
      expect(yield* wholeText(pieces(), bytes.length, tooLong)).toBe("größer")
      expect(yield* Effect.flip(wholeText(pieces(), bytes.length - 1, tooLong))).toEqual(failed("too long"))
    })
  )
})

describe("PCM16 in pieces", () => {
  it("is read in whole samples, and keeps no bytes of a piece", () => {
    const reader = new Pcm16Reader()
    const piece = Buffer.from([1, 0, 0xfe])
    expect([...reader.read(piece)]).toEqual([1])
    expect(reader.isWhole).toBe(false)
    piece.fill(0)
    expect([...reader.read(Buffer.from([0xff]))]).toEqual([-2])
    expect(reader.isWhole).toBe(true)
  })
})
