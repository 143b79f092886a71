import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Alignment, wordStart } from "../src/Alignment.ts"
import { Playout } from "../src/Playout.ts"

const second = 8000
const frame = 160

const at = (alignment: Alignment, seconds: number, text: string, end?: number): string =>
  text.slice(0, alignment.charactersAt(seconds * second, text, end === undefined ? undefined : end * second))

const story = "one two three four five six seven eight nine ten"

describe("Alignment", () => {
  it("is exact at its points, and goes on at their pace to the end of a whole word", () => {
    const alignment = new Alignment(second)
    for (let n = 1; n <= 20; n++) alignment.add(n * 0.1 * second, n)
    expect(at(alignment, 1.3, story)).toBe(story.slice(0, 13))
    // 10 characters a second: at 3 s "one two three four five six se".
    expect(at(alignment, 3, story)).toBe("one two three four five six")
    expect(at(alignment, 60, story)).toBe(story)
  })

  it("is estimated at 15 characters a second before the first second of it is known", () => {
    const alignment = new Alignment(second)
    expect(at(alignment, 1, story)).toBe("one two three")
    alignment.add(0.1 * second, 8)
    expect(at(alignment, 1.1, story)).toBe("one two three four five")
  })

  it("is corrected by points that come later", () => {
    const alignment = new Alignment(second)
    alignment.add(2 * second, 20)
    expect(at(alignment, 4, story)).toBe("one two three four five six seven eight")
    alignment.add(4 * second, 24)
    expect(at(alignment, 4, story)).toBe("one two three four five ")
  })

  it("interpolates between points that are far apart, and to the end of the audio", () => {
    const alignment = new Alignment(second)
    alignment.add(4 * second, 24)
    expect(at(alignment, 2, story, 10)).toBe("one two")
    expect(at(alignment, 7, story, 10)).toBe("one two three four five six seven")
    expect(at(alignment, 10, story, 10)).toBe(story)
  })

  it("ignores points that go back", () => {
    const alignment = new Alignment(second)
    alignment.add(2 * second, 20)
    alignment.add(1 * second, 30)
    alignment.add(3 * second, 10)
    expect(at(alignment, 2, story)).toBe(story.slice(0, 20))
    expect(alignment.knownEnd(21)).toBeUndefined()
  })

  it("cuts texts without spaces after a letter, and not within one", () => {
    const text = "😀".repeat(40)
    const alignment = new Alignment(second)
    for (const seconds of [1.01, 1.07, 1.13, 2.2]) expect(at(alignment, seconds, text).isWellFormed()).toBe(true)
    expect(at(alignment, 2, text).length).toBeGreaterThan(28)
  })

  it("finds the position of a word that it gave the characters of", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 9000 }), fc.integer({ min: 1, max: 12 })), { maxLength: 12 }),
        fc.integer({ min: 0, max: 80_000 }),
        fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
        (points, position, end) => {
          const alignment = new Alignment(second)
          let [bytes, characters] = [0, 0]
          for (const [more, said] of points) {
            bytes += more
            characters = Math.min(story.length, characters + said)
            alignment.add(bytes, characters)
          }
          const length = end === undefined ? undefined : bytes + end
          const count = alignment.charactersAt(position, story, length)
          const start = wordStart(story, count)
          const before = alignment.positionAt(start, story, length)
          expect(before).toBeGreaterThanOrEqual(0)
          // Nothing of the word was spoken before it.
          expect(alignment.charactersAt(before, story, length)).toBeLessThanOrEqual(Math.max(start, count))
        }
      )
    )
  })
})

/** A playout buffer that speaks one character in each 20 ms frame, and what was sent of it. */
const bench = () => {
  const log: Array<string> = []
  const sent: Array<number> = []
  const playout = new Playout({
    bytesPerSecond: second,
    silence: 0,
    listener: { onStarted: (id) => log.push(`started ${id}`), onPlayed: (id) => log.push(`played ${id}`) }
  })
  let written = 0
  const bytes = new Uint8Array(frame)
  return {
    log,
    sent,
    playout,
    /** Writes frames that are numbered from 1. */
    write: (frames: number) => {
      for (let n = 0; n < frames; n++) {
        const value = ++written
        playout.write(frame, (target, offset, count) => target.fill(value % 256, offset, offset + count))
      }
    },
    read: (frames: number) => {
      for (let n = 0; n < frames; n++) {
        if (playout.read(bytes)) sent.push(bytes[0] ?? 0)
        playout.progress(playout.position)
      }
    },
    align: (characters: number) => {
      for (let n = 1; n <= characters; n++) playout.align(n, n * frame)
    }
  }
}

describe("Playout", () => {
  it("reports each utterance of a turn when its last character was played", () => {
    const { align, log, playout, read, write } = bench()
    playout.begin(true)
    playout.say("a", "", "one")
    playout.say("b", " ", "two")
    write(7)
    align(7)
    read(3)
    expect(log).toEqual(["started a", "played a"])
    read(2)
    expect(log).toEqual(["started a", "played a", "started b"])
    playout.say("c", " ", "three")
    playout.endText()
    write(6)
    expect(playout.end(true)).toEqual([])
    read(8)
    expect(log).toEqual(["started a", "played a", "started b", "played b", "started c", "played c"])
  })

  it("returns how much of each utterance of a turn was played", () => {
    const { align, playout, read, write } = bench()
    playout.begin(true)
    playout.say("a", "", "one")
    playout.say("b", " ", "two three")
    write(13)
    align(13)
    read(6)
    expect(playout.clear(playout.position)).toEqual([{ id: "b", played: "tw" }])
  })

  it("goes on from the beginning of the word that was cut, with what was sent already", () => {
    const { align, log, playout, read, sent, write } = bench()
    playout.begin(false)
    playout.say("a", "", "one two three")
    write(13)
    align(13)
    expect(playout.end(true)).toEqual([])
    read(10)
    // Of ten frames that were sent, six were played.
    expect(playout.hold(6 * frame)).toEqual([{ id: "a", played: "one tw", held: true }])
    read(0)
    expect(playout.busy).toBe(true)
    playout.resume()
    sent.length = 0
    read(20)
    // "two" begins in the fifth frame.
    expect(sent).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13])
    expect(log).toEqual(["started a", "started a", "played a"])
  })

  it("accepts what is synthesized while speech is held", () => {
    const { align, playout, read, sent, write } = bench()
    playout.begin(false)
    playout.say("a", "", "one two three")
    write(6)
    read(5)
    playout.hold(playout.position)
    write(7)
    align(13)
    playout.resume()
    sent.length = 0
    read(20)
    expect(sent).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  it("does not hold what it does not have any more", () => {
    const { playout, read, write } = bench()
    playout.begin(false)
    playout.say("a", "", "x".repeat(300))
    for (let n = 0; n < 5; n++) {
      write(60)
      read(60)
    }
    // The caller heard nothing for 5 s.
    expect(playout.hold(0)).toEqual([{ id: "a", played: "" }])
  })

  it("is never cut before what the caller had heard when it was held", () => {
    const { align, playout, read, write } = bench()
    playout.begin(false)
    playout.say("a", "", "one two three")
    write(13)
    align(13)
    read(6)
    playout.hold(playout.position)
    playout.resume()
    read(1)
    expect(playout.clear(playout.position)).toEqual([{ id: "a", played: "one tw" }])
  })

  it("sends every frame once or, after a hold, again from a word, in order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ read: fc.integer({ min: 0, max: 40 }), late: fc.integer({ min: 0, max: 30 }) }), {
          maxLength: 8
        }),
        (stops) => {
          const { align, log, playout, read, sent, write } = bench()
          const text = "ab cde f ghij klmno pq rst uvwx yz abc def ghi jk".slice(0, 49)
          playout.begin(false)
          playout.say("a", "", text)
          write(49)
          align(49)
          playout.end(true)
          let before = 0
          for (const stop of stops) {
            read(stop.read)
            const played = Math.max(before, playout.position - stop.late * frame)
            const [cut] = playout.hold(played)
            before = playout.position
            if (cut === undefined) continue
            const from = sent.length
            playout.resume()
            read(1)
            const first = sent[from]
            // The first frame is that of a word of which the end, at least, was not heard.
            if (first !== undefined) expect(text.charAt(first - 2) || " ").toMatch(/[ a-z]/)
          }
          read(200)
          for (const [n, value] of sent.entries()) {
            const previous = n === 0 ? 0 : (sent[n - 1] ?? 0)
            expect(value).toBeLessThanOrEqual(previous + 1)
          }
          expect(sent.at(-1)).toBe(49)
          expect(log.filter((line) => line === "played a")).toHaveLength(1)
        }
      )
    )
  })
})
