import { describe, expect, it } from "@effect/vitest"
import { BatchedMedia, flushAfterMs } from "@svc/providers/BatchedMedia"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { Effect, TestClock } from "effect"

const frameBytes = 4

/** A medium, what its connection got (the labels of audio, `#` before marks, `clear`), and what was confirmed. */
const medium = Effect.gen(function* () {
  const flushAfter = yield* SharedTimeout.make(flushAfterMs)
  const sent: Array<string> = []
  const confirmed: Array<string> = []
  const media = new BatchedMedia({
    frameBytes,
    flushAfter,
    onMark: (name, outcome) => void confirmed.push(`${name} ${outcome}`)
  })
  const connection = {
    media: (audio: Uint8Array) => void sent.push([...audio].filter((_, index) => index % frameBytes === 0).join(",")),
    mark: (name: string) => void sent.push(`#${name}`),
    clear: () => void sent.push("clear")
  }
  media.connect(connection)
  const frame = new Uint8Array(frameBytes)
  /** Sends the frames `from` to `to`, 20 ms apart. */
  const send = (from: number, to: number) =>
    Effect.forEach(
      Array.from({ length: to - from + 1 }, (_, index) => from + index),
      (label) =>
        Effect.suspend(() => {
          media.send(frame.fill(label))
          frame.fill(0)
          return TestClock.adjust("20 millis")
        })
    )
  return { media, connection, sent, confirmed, send }
})

describe("BatchedMedia", () => {
  it.effect("sends messages of 100 ms, the first with 20 ms more", () =>
    Effect.gen(function* () {
      const { send, sent } = yield* medium
      yield* send(1, 5)
      expect(sent).toEqual([])
      yield* send(6, 16)
      expect(sent).toEqual(["1,2,3,4,5,6", "7,8,9,10,11", "12,13,14,15,16"])
    })
  )

  it.effect(
    "sends several frames at once as a message, with those that were collected before, and marks after it",
    () =>
      Effect.gen(function* () {
        const { confirmed, media, send, sent } = yield* medium
        const frames = (from: number, to: number) =>
          new Uint8Array(
            Array.from({ length: (to - from + 1) * frameBytes }, (_, n) => from + Math.floor(n / frameBytes))
          )
        yield* send(1, 2)
        const message = frames(3, 6)
        media.send(message)
        message.fill(0)
        media.mark("middle")
        media.send(frames(7, 11))
        expect(sent).toEqual(["1,2,3,4,5,6", "#m1", "7,8,9,10,11"])
        yield* TestClock.adjust("1 second")
        expect(sent).toHaveLength(3)
        media.marked("m1")
        expect(confirmed).toEqual(["middle played"])
      })
  )

  it.effect("collects single frames for no longer than the carrier has audio to play", () =>
    Effect.gen(function* () {
      const { media, send, sent } = yield* medium
      media.send(Uint8Array.from({ length: 3 * frameBytes }, (_, n) => 1 + Math.floor(n / frameBytes)))
      yield* TestClock.adjust("20 millis")
      yield* send(4, 9)
      expect(sent).toEqual(["1,2,3", "4,5", "6,7", "8,9"])
      media.clear()
      yield* send(10, 15)
      expect(sent.slice(4)).toEqual(["clear", "10,11,12,13,14,15"])
    })
  )

  it.effect("sends the rest when no more frames come, and begins as after a pause", () =>
    Effect.gen(function* () {
      const { send, sent } = yield* medium
      yield* send(1, 8)
      expect(sent).toEqual(["1,2,3,4,5,6"])
      yield* TestClock.adjust(flushAfterMs)
      expect(sent).toEqual(["1,2,3,4,5,6", "7,8"])
      // Until the carrier has played all.
      yield* TestClock.adjust("100 millis")
      yield* send(9, 13)
      expect(sent).toHaveLength(2)
      yield* send(14, 14)
      expect(sent[2]).toBe("9,10,11,12,13,14")
    })
  )

  it.effect("keeps the place of marks between the frames, and confirms them by their own names in order", () =>
    Effect.gen(function* () {
      const { confirmed, media, send, sent } = yield* medium
      yield* send(1, 1)
      media.mark("begin")
      yield* send(2, 6)
      expect(sent).toEqual(["1", "#m1", "2,3,4,5,6"])
      media.mark("end")
      expect(sent.at(-1)).toBe("#m2")
      media.marked("m2")
      media.marked("m1")
      media.marked("unknown")
      expect(confirmed).toEqual(["begin played", "end played"])
    })
  )

  it.effect("clear drops what waits, and confirms each mark once as cleared, whatever the carrier echoes", () =>
    Effect.gen(function* () {
      const { confirmed, media, send, sent } = yield* medium
      yield* send(1, 6)
      media.mark("sent")
      yield* send(7, 8)
      media.mark("waiting")
      media.clear()
      expect(sent).toEqual(["1,2,3,4,5,6", "#m1", "clear"])
      expect(confirmed).toEqual(["sent cleared", "waiting cleared"])
      media.marked("m1")
      media.mark("next")
      media.marked("m3")
      expect(confirmed).toEqual(["sent cleared", "waiting cleared", "next played"])
      yield* TestClock.adjust("1 second")
      expect(sent).toEqual(["1,2,3,4,5,6", "#m1", "clear", "#m3"])
    })
  )

  it.effect("drops what was on its way when the connection changes, and sends nothing while there is none", () =>
    Effect.gen(function* () {
      const { confirmed, connection, media, send, sent } = yield* medium
      yield* send(1, 3)
      media.mark("lost")
      media.connect(undefined)
      yield* send(4, 9)
      media.mark("nowhere")
      media.clear()
      expect([sent, confirmed]).toEqual([[], ["lost cleared"]])
      media.connect(connection)
      yield* send(10, 15)
      expect(sent).toEqual(["10,11,12,13,14,15"])
      media.mark("last")
      media.close()
      media.marked("m3")
      expect(confirmed).toEqual(["lost cleared"])
    })
  )
})
