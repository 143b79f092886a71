import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { speakable } from "../src/ToneSpeech/ToneCode.ts"
import { hangFrames } from "../src/ToneSpeech/ToneDecoder.ts"
import { ToneEncoder } from "../src/ToneSpeech/ToneEncoder.ts"
import { hear, silence, throughMulaw, toneFrames } from "./Tones.ts"

/** Any text: every code point, including unpaired surrogates. */
const anyText = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  // A code without timing may merge doubled letters.
  fc.string({ unit: fc.constantFrom("a", "b", "a", " "), maxLength: 40 })
)

const lossy = (frames: ReadonlyArray<Int16Array>, lost: ReadonlyArray<number>, share: number) =>
  frames.filter((_, index) => (lost[index % lost.length] ?? 1) >= share)

describe("tone speech", () => {
  it("any text is decoded after mu-law encoding", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const heard = hear(toneFrames(text).map(throughMulaw))
        expect(heard.ended).toEqual([{ text: speakable(text), outcome: "ok" }])
        expect(heard.started).toBe(1)
      }),
      { numRuns: 300 }
    )
  })

  it("any text is decoded at 16 and 24 kHz", () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(2, 3), (text, step) => {
        expect(hear(toneFrames(text, 8000 * step), step).ended).toEqual([{ text: speakable(text), outcome: "ok" }])
      })
    )
  })

  it("audio that is cut anywhere decodes to the exact prefix of the text", () => {
    fc.assert(
      fc.property(anyText, fc.nat(), (text, at) => {
        const frames = toneFrames(text).map(throughMulaw)
        // Only symbols of the text: the last nine frames are the end and the CRC.
        const kept = at % (frames.length - 9)
        const heard = hear([...frames.slice(0, kept), ...silence(hangFrames)])
        if (kept === 0) {
          expect(heard.ended).toEqual([])
          return
        }
        const bytes = Buffer.from(speakable(text))
        const symbols = Math.ceil(kept / 3)
        const prefix = [...speakable(text)].reduce(
          (whole, character) =>
            whole.bytes + Buffer.byteLength(character) <= symbols - 1
              ? { text: whole.text + character, bytes: whole.bytes + Buffer.byteLength(character) }
              : { text: whole.text, bytes: Number.POSITIVE_INFINITY },
          { text: "", bytes: 0 }
        )
        expect(heard.ended).toEqual([{ text: prefix.text, outcome: "cut" }])
        expect(bytes.toString().startsWith(prefix.text)).toBe(true)
      }),
      { numRuns: 300 }
    )
  })

  it("a wrong text is never ok when frames are lost", () => {
    fc.assert(
      fc.property(
        anyText,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 150, maxLength: 150 }),
        fc.constantFrom(0.01, 0.05, 0.1),
        (text, lost, share) => {
          const heard = hear([...lossy(toneFrames(text).map(throughMulaw), lost, share), ...silence(hangFrames)])
          for (const { outcome, text: got } of heard.ended) if (outcome === "ok") expect(got).toBe(speakable(text))
        }
      ),
      { numRuns: 400 }
    )
  })

  it("a text is decoded when every third frame is lost", () => {
    const frames = toneFrames("The quick brown fox books a balloon").filter((_, index) => index % 3 !== 1)
    expect(hear(frames).ended).toEqual([{ text: "The quick brown fox books a balloon", outcome: "ok" }])
  })

  it("a text is decoded as bad when frames are repeated", () => {
    const frames = toneFrames("hello").flatMap((frame) => [frame, frame])
    expect(hear(frames).ended).toEqual([{ text: "hello", outcome: "bad" }])
  })

  it("a text is decoded when its symbols are not aligned with the frames", () => {
    const whole = Int16Array.from(toneFrames("Straddling letters").flatMap((frame) => [...frame]))
    const shifted = Int16Array.from([...new Int16Array(61), ...whole, ...new Int16Array(99)])
    const frames = Array.from({ length: shifted.length / 160 }, (_, i) => shifted.subarray(i * 160, i * 160 + 160))
    expect(hear(frames).ended).toEqual([{ text: "Straddling letters", outcome: "ok" }])
  })

  it("progressed reports the first character and then every complete word", () => {
    expect(hear(toneFrames("Hi  there you")).progressed).toEqual(["H", "Hi", "Hi  there"])
  })

  it("consecutive utterances are decoded separately", () => {
    const heard = hear([...toneFrames("one"), ...toneFrames("two"), ...silence(3), ...toneFrames("three")])
    expect(heard.ended.map(({ text }) => text)).toEqual(["one", "two", "three"])
    expect(heard.started).toBe(3)
  })

  it("an unfinished utterance is cut when the next one begins", () => {
    const heard = hear([...toneFrames("broken off").slice(0, 21), ...toneFrames("whole")])
    expect(heard.ended).toEqual([
      { text: "broken", outcome: "cut" },
      { text: "whole", outcome: "ok" }
    ])
  })

  it("an utterance whose beginning was missed is bad", () => {
    expect(hear(toneFrames("hello").slice(9)).ended).toEqual([{ text: "llo", outcome: "bad" }])
  })

  it("a lost letter is decoded as a question mark, and the utterance is bad", () => {
    const frames = toneFrames("abcdef").filter((_, index) => Math.floor(index / 3) !== 3)
    expect(hear(frames).ended).toEqual([{ text: "ab?def", outcome: "bad" }])
  })

  it("silence, noise, a single tone or a hum starts no utterance", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -9000, max: 9000 }), { minLength: 160, maxLength: 160 }), (noise) => {
        expect(hear([Int16Array.from(noise)]).started).toBe(0)
      })
    )
    const tone = Int16Array.from({ length: 160 }, (_, n) => 9000 * Math.sin((2 * Math.PI * 1000 * n) / 8000))
    const hum = Int16Array.from({ length: 160 }, (_, n) => 9000 * Math.sign(Math.sin((2 * Math.PI * 50 * n) / 8000)))
    expect(hear([...silence(20), tone, tone, tone, hum, hum, hum]).started).toBe(0)
  })

  it("characters counts the encoded UTF-16 units", () => {
    const encoder = new ToneEncoder("a€😀z")
    const counts = Array.from({ length: encoder.frames }, () => {
      encoder.next()
      return encoder.characters
    })
    const perSymbol = counts.filter((_, index) => index % 3 === 2)
    expect(perSymbol).toEqual([0, 1, 1, 1, 2, 2, 2, 2, 4, 5, 5, 5, 5])
    expect(encoder.next()).toBe(-1)
  })
})
