import { expect, it } from "@effect/vitest"
import { type AudioFormat, mulaw8k } from "@svc/providers/Audio"
import { type CallLeg, DialFailed, type DialProgress, type Outbound } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber, HashMap, Logger, Option, TestClock } from "effect"
import { describe } from "vitest"
import { fencedTelephony } from "../../src/fence/FencedTelephony.ts"
import { invalid } from "../fixtures/Invalid.ts"
import { telephony } from "../fixtures/Parts.ts"

const leg: CallLeg = {
  format: mulaw8k,
  listen: () => {},
  send: () => {},
  mark: () => {},
  clear: () => {},
  hangup: () => {}
}

const call = { callId: "call_1", to: "+31201234567", from: "+31207654321", formats: [mulaw8k] }

/** Dials through the fence and keeps what is told meanwhile. */
const dialling = (dial: Outbound["dial"]) =>
  Effect.gen(function* () {
    const heard: Array<unknown> = []
    const { outbound } = yield* fencedTelephony({ ...telephony("net"), outbound: { dial } })
    const dialled = (outbound?.dial ?? dial)(call, {
      onPlaced: (id) => heard.push(id),
      onRinging: () => heard.push("ringing"),
      onEarlyMedia: (payload, format) => heard.push([...payload, format.encoding])
    })
    return { heard, dialled }
  })

describe("early media", () => {
  it.effect(
    "of a call that rings is passed on with its format, and so is the carrier's id, until the call is answered",
    () =>
      Effect.gen(function* () {
        let progress: DialProgress = {}
        const answer = yield* Deferred.make<CallLeg>()
        const { dialled, heard } = yield* dialling((_, given = {}) => {
          progress = given
          return Deferred.await(answer)
        })
        const fiber = yield* Effect.fork(dialled)
        yield* TestClock.adjust("1 second")
        progress.onPlaced?.(invalid<string>(7))
        progress.onPlaced?.("one")
        progress.onRinging?.()
        progress.onEarlyMedia?.(Uint8Array.of(1, 2), mulaw8k)
        yield* Deferred.succeed(answer, leg)
        yield* Fiber.join(fiber)
        progress.onPlaced?.("two")
        progress.onRinging?.()
        progress.onEarlyMedia?.(Uint8Array.of(3), mulaw8k)
        expect(heard).toEqual(["one", "ringing", [1, 2, "mulaw"]])
      })
  )

  it.effect("is not passed on after the call failed or was given up", () =>
    Effect.gen(function* () {
      let progress: DialProgress = {}
      const busy = yield* dialling((_, given = {}) => {
        progress = given
        return Effect.fail(new DialFailed({ outcome: "busy", reason: "busy" }))
      })
      yield* Effect.flip(busy.dialled)
      progress.onEarlyMedia?.(Uint8Array.of(1), mulaw8k)
      expect(busy.heard).toEqual([])

      const ringing = yield* dialling((_, given = {}) => {
        progress = given
        return Effect.never
      })
      const fiber = yield* Effect.fork(ringing.dialled)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      progress.onEarlyMedia?.(Uint8Array.of(1), mulaw8k)
      expect(ringing.heard).toEqual([])
    })
  )

  it.effect("that is invalid is dropped, and the call goes on", () =>
    Effect.gen(function* () {
      const { dialled, heard } = yield* dialling((_, progress) =>
        Effect.sync(() => {
          progress?.onEarlyMedia?.(invalid("abc"), mulaw8k)
          progress?.onEarlyMedia?.(Uint8Array.of(1), invalid<AudioFormat>({ encoding: "opus", sampleRate: 48_000 }))
          progress?.onEarlyMedia?.(Uint8Array.of(1), invalid<AudioFormat>(undefined))
          return leg
        })
      )
      expect((yield* dialled).format).toEqual(mulaw8k)
      expect(heard).toEqual([])
    })
  )

  it.effect("that is invalid is logged once for a call with its call_id, and so is an invalid carrierCallId", () => {
    const lines: Array<readonly [string, unknown]> = []
    const logger = Logger.make(({ annotations, message }) => {
      lines.push([String(message), Option.getOrUndefined(HashMap.get(annotations, "call_id"))])
    })
    return Effect.gen(function* () {
      const { dialled } = yield* dialling((_, progress) =>
        Effect.sync(() => {
          for (const _ of [1, 2]) {
            progress?.onPlaced?.(invalid<string>(7))
            progress?.onEarlyMedia?.(invalid("abc"), mulaw8k)
          }
          return leg
        })
      )
      yield* dialled
      expect(lines).toEqual([
        ["telephony net: the carrier's id of a call is dropped: it must be a string, not a number", "call_1"],
        ["telephony net: early media is dropped: early media must be a Uint8Array, not a string", "call_1"]
      ])
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  })
})
