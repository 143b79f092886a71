import { describe, expect, it } from "@effect/vitest"
import type { UntimedInput } from "@svc/conversation/Input"
import { type AudioFormat, mulaw8k } from "@svc/providers/Audio"
import { BridgeFailed, type CallEvent, type CallLeg, DialFailed, type DialProgress } from "@svc/providers/Telephony"
import { Deferred, type Duration, Effect, FiberMap, Logger, type Scope } from "effect"
import { Ticker } from "../../src/media/Ticker.ts"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import * as CallTransfer from "../../src/session/CallTransfer.ts"

const alaw8k: AudioFormat = { encoding: "alaw", sampleRate: 8000 }

/** A leg that a test drives. */
class Leg {
  format: AudioFormat = mulaw8k
  readonly frames: Array<Uint8Array> = []
  readonly hangups: Array<string> = []
  readonly blind: Array<string> = []
  #listener: (event: CallEvent) => void = () => {}

  emit(event: CallEvent): void {
    this.#listener(event)
  }

  make(transfers: boolean): CallLeg {
    return {
      format: this.format,
      listen: (listener) => {
        this.#listener = listener
      },
      send: (frame) => void this.frames.push(frame.slice()),
      mark: () => {},
      clear: () => {},
      hangup: (reason) => void this.hangups.push(reason),
      ...(transfers ? { transferBlind: (target) => void this.blind.push(target) } : {})
    }
  }
}

interface Bench {
  readonly transfer: CallTransfer.CallTransfer
  readonly caller: Leg
  readonly other: Leg
  /** What was fed to the conversation, shortened. */
  readonly fed: Array<string>
  /** What the leg's events that the conversation gets are. */
  readonly passed: Array<string>
  /** An event of the caller's leg. */
  readonly emit: (event: CallEvent) => void
  readonly dialled: Array<string>
  readonly announced: ReadonlyArray<string>
  readonly interrupted: () => boolean
  readonly wait: (duration: Duration.DurationInput) => Effect.Effect<void>
}

interface Setup {
  readonly transfers?: boolean
  /** How the second leg's network reacts; absent: the call has no second leg. */
  readonly dial?: (progress: DialProgress) => Effect.Effect<void, DialFailed>
  readonly bridge?: (one: CallLeg, other: CallLeg) => Effect.Effect<void, BridgeFailed>
}

const refused: CallEvent = { _tag: "TransferProgress", state: "failed", reason: "603 Declined", refused: true }
const audio: CallEvent = { _tag: "Audio", payload: new Uint8Array(160).fill(0x20) }

const brief = (input: UntimedInput): string =>
  input._tag === "TransferProgressed"
    ? `${input.state}${input.reason === null ? "" : `: ${input.reason}`}`
    : input._tag === "LegFailed"
      ? `LegFailed: ${input.reason}`
      : input._tag

const bench = (
  { bridge, dial, transfers = false }: Setup,
  body: (b: Bench) => Effect.Effect<void, never, Scope.Scope>
) =>
  Effect.gen(function* () {
    const time = yield* VirtualTime
    const ticker = yield* Ticker
    const fork = yield* FiberMap.runtime(yield* FiberMap.make<string, void>())<never>()
    const [caller, other] = [new Leg(), new Leg()]
    const [fed, passed, dialled]: [Array<string>, Array<string>, Array<string>] = [[], [], []]
    const announced: Array<string> = []
    let interrupted = false
    const callerLeg = caller.make(transfers)
    const transfer = CallTransfer.make({
      leg: callerLeg,
      network:
        dial === undefined
          ? undefined
          : {
              dial: ({ formats, to }, progress) => {
                dialled.push(`${to} ${formats[0]?.encoding}`)
                return dial(progress).pipe(
                  Effect.as(other.make(false)),
                  Effect.onInterrupt(() =>
                    Effect.sync(() => {
                      interrupted = true
                    })
                  )
                )
              },
              ...(bridge === undefined ? {} : { bridge })
            },
      announce: (leg, text) =>
        Effect.sync(() => {
          announced.push(text.text)
          const said = Effect.runSync(Deferred.make<void>())
          leg.mark(text.text)
          return {
            onEvent: (event: CallEvent) => {
              if (event._tag === "Mark") Deferred.unsafeDone(said, Effect.void)
            },
            over: Deferred.await(said),
            used: () => ({ characters: text.text.length, cached_characters: 0 })
          }
        }),
      ticker,
      feed: (input) => void fed.push(brief(input)),
      run: (task) => void fork("transfer", task)
    })
    yield* body({
      transfer,
      caller,
      other,
      fed,
      passed,
      dialled,
      announced,
      interrupted: () => interrupted,
      emit: (event) => {
        if (!transfer.takes(event)) passed.push(event._tag)
      },
      wait: (duration) => Effect.asVoid(time.advance(duration))
    })
  }).pipe(Effect.scoped, Effect.provide(VirtualTime.layer(0)))

/** Rings for a second, then answers. */
const answers: Setup["dial"] = ({ onRinging }) =>
  Effect.zipRight(
    Effect.sync(() => onRinging?.()),
    Effect.sleep("1 second")
  )
const rings: Setup["dial"] = ({ onRinging }) =>
  Effect.zipRight(
    Effect.sync(() => onRinging?.()),
    Effect.never
  )
const destination = "+31201234567"

describe("a transfer", () => {
  it.live("is blind where the network transfers, and everything else is the conversation's", () =>
    bench({ transfers: true, dial: answers }, ({ caller, dialled, emit, fed, passed, transfer, wait }) =>
      Effect.gen(function* () {
        transfer.start(destination)
        emit({ _tag: "TransferProgress", state: "ringing" })
        emit({ _tag: "TransferProgress", state: "failed", reason: "no such number" })
        yield* wait("5 seconds")
        expect([caller.blind, dialled, fed]).toEqual([[destination], [], []])
        expect(passed).toEqual(["TransferProgress", "TransferProgress"])
      })
    )
  )

  it.live("that the network refuses dials a second leg, in the caller's format, and joins it when it is answered", () =>
    bench({ transfers: true, dial: answers }, ({ caller, dialled, emit, fed, other, passed, transfer, wait }) =>
      Effect.gen(function* () {
        transfer.start(destination)
        emit(refused)
        yield* wait("2 seconds")
        expect([dialled, fed, passed]).toEqual([[`${destination} mulaw`], ["ringing", "completed"], []])
        caller.frames.length = 0
        emit(audio)
        emit(audio)
        other.emit(audio)
        other.emit(audio)
        yield* wait("100 millis")
        expect(other.frames[0]).toEqual(new Uint8Array(160).fill(0x20))
        expect(caller.frames[0]).toEqual(new Uint8Array(160).fill(0x20))
        // Nothing of it reaches the conversation.
        emit({ _tag: "Dtmf", digit: "1", source: "rfc4733" })
        expect([passed, fed]).toEqual([[], ["ringing", "completed"]])
      })
    )
  )

  it.live("that is refused fails where no network can dial", () =>
    bench({ transfers: true }, ({ emit, passed, transfer }) =>
      Effect.sync(() => {
        transfer.start(destination)
        emit(refused)
        expect(passed).toEqual(["TransferProgress"])
      })
    )
  )

  it.live("of a leg without transfers dials at once, or fails where no network can dial", () =>
    Effect.gen(function* () {
      yield* bench({ dial: answers }, ({ fed, transfer, wait }) =>
        Effect.gen(function* () {
          transfer.start(destination)
          yield* wait("2 seconds")
          expect(fed).toEqual(["ringing", "completed"])
        })
      )
      yield* bench({}, ({ fed, transfer }) =>
        Effect.sync(() => {
          transfer.start(destination)
          expect(fed).toEqual(["failed: this telephone network cannot transfer calls"])
        })
      )
    })
  )

  it.live("fails with the outcome of the second leg", () =>
    Effect.gen(function* () {
      for (const outcome of ["busy", "no-answer", "rejected", "failed"] as const) {
        yield* bench(
          { dial: () => Effect.fail(new DialFailed({ outcome, reason: "486" })) },
          ({ caller, fed, transfer, wait }) =>
            Effect.gen(function* () {
              transfer.start(destination)
              yield* wait("1 second")
              expect([fed, caller.hangups]).toEqual([[`${outcome}: 486`], []])
            })
        )
      }
    })
  )

  it.live("has no advice for the operator in its failure, which the model gets; the log has it", () => {
    const logged: Array<string> = []
    const dial = () =>
      Effect.fail(new DialFailed({ outcome: "failed", reason: "the phone is not registered", advice: "set USERS" }))
    return bench({ dial }, ({ fed, transfer, wait }) =>
      Effect.gen(function* () {
        transfer.start(destination)
        yield* wait("1 second")
        expect(fed).toEqual(["failed: the phone is not registered"])
        expect(logged).toEqual([`A transfer to ${destination} failed: the phone is not registered; set USERS`])
      })
    ).pipe(
      Effect.provide(
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => void logged.push(String(message)))
        )
      )
    )
  })

  it.live("fails after 30 s without an answer, counted from the request, and the phone stops ringing", () =>
    bench({ transfers: true, dial: rings }, ({ emit, fed, interrupted, transfer, wait }) =>
      Effect.gen(function* () {
        transfer.start(destination)
        yield* wait("10 seconds")
        emit(refused)
        yield* wait("19900 millis")
        expect([fed, interrupted()]).toEqual([["ringing"], false])
        yield* wait("200 millis")
        expect([fed, interrupted()]).toEqual([["ringing", "no-answer: nobody answers"], true])
      })
    )
  )

  it.live("stops the ringing when it is given up, or the call ends, and may be asked for again", () =>
    Effect.gen(function* () {
      for (const stop of ["cancel", "end"] as const) {
        yield* bench({ dial: rings }, ({ caller, dialled, fed, interrupted, transfer, wait }) =>
          Effect.gen(function* () {
            transfer.start(destination)
            yield* wait("5 seconds")
            transfer[stop]("over")
            yield* wait("1 second")
            expect([fed, interrupted()]).toEqual([["ringing"], true])
            const heard = caller.frames.length
            yield* wait("5 seconds")
            expect(caller.frames.length).toBe(heard)
            if (stop === "end") return
            transfer.start(destination)
            yield* wait("1 second")
            expect(dialled.length).toBe(2)
          })
        )
      }
    })
  )

  it.live("lets the caller hear a ringing tone, or the audio that the network has before the answer", () =>
    Effect.gen(function* () {
      yield* bench({ dial: rings }, ({ caller, transfer, wait }) =>
        Effect.gen(function* () {
          transfer.start(destination)
          yield* wait("990 millis")
          expect(caller.frames.length).toBeGreaterThan(40)
          const isSilent = (frame: Uint8Array) => frame.every((byte) => byte === 0xff)
          expect(caller.frames.filter(isSilent)).toEqual([])
          yield* wait("3 seconds")
          expect(caller.frames.slice(-100).every(isSilent)).toBe(true)
          yield* wait("2 seconds")
          expect(isSilent(caller.frames.at(-1) ?? new Uint8Array())).toBe(false)
        })
      )
      const early: Setup["dial"] = ({ onEarlyMedia, onRinging }) =>
        Effect.gen(function* () {
          onRinging?.()
          yield* Effect.sleep("100 millis")
          for (let n = 0; n < 50; n++) {
            onEarlyMedia?.(new Uint8Array(160).fill(0x2a), alaw8k)
            yield* Effect.sleep("20 millis")
          }
          return yield* Effect.never
        })
      yield* bench({ dial: early }, ({ caller, transfer, wait }) =>
        Effect.gen(function* () {
          transfer.start(destination)
          yield* wait("600 millis")
          const last = caller.frames.at(-1)
          expect(new Set(last).size).toBe(1)
          expect(last?.[0]).not.toBe(0xff)
        })
      )
    })
  )

  it.live(
    "ends the call when the destination hangs up or its connection breaks, and the second leg when the call ends",
    () =>
      Effect.gen(function* () {
        const joined = (act: (b: Bench) => void) =>
          bench({ dial: answers }, (b) =>
            Effect.gen(function* () {
              b.transfer.start(destination)
              yield* b.wait("2 seconds")
              b.fed.length = 0
              act(b)
              yield* b.wait("1 second")
            })
          )
        yield* joined(({ fed, other }) => {
          other.emit({ _tag: "Ended", cause: "hangup" })
          expect(fed).toEqual(["CallerHungUp"])
        })
        yield* joined(({ fed, other }) => {
          other.emit({ _tag: "Ended", cause: "failed", reason: "no media" })
          other.emit({ _tag: "Ended", cause: "failed", reason: "again" })
          expect(fed).toEqual(["LegFailed: no media"])
        })
        yield* joined(({ emit, other, passed, transfer }) => {
          emit({ _tag: "Ended", cause: "hangup" })
          expect(passed).toEqual(["Ended"])
          transfer.end("caller-hangup")
          transfer.end("caller-hangup")
          expect(other.hangups).toEqual(["caller-hangup"])
        })
      })
  )

  it.live("fails when the destination ends before it is joined, and leaves the caller with the agent", () =>
    bench({ dial: answers, bridge: () => Effect.never }, ({ caller, emit, fed, other, passed, transfer, wait }) =>
      Effect.gen(function* () {
        transfer.start(destination)
        yield* wait("2 seconds")
        other.emit({ _tag: "Ended", cause: "hangup" })
        expect(fed).toEqual(["ringing", "failed: the destination hung up at once"])
        transfer.cancel()
        yield* wait("1 second")
        emit(audio)
        expect([passed, caller.hangups, fed.length]).toEqual([["Audio"], [], 2])
      })
    )
  )

  it.live("joins the legs in their network where it can, and by itself where that fails", () =>
    Effect.gen(function* () {
      for (const fails of [false, true]) {
        const joins: Array<CallLeg> = []
        const bridge = (one: CallLeg, other: CallLeg) => {
          joins.push(one, other)
          return fails ? new BridgeFailed({ reason: "no capacity" }) : Effect.void
        }
        yield* bench({ dial: answers, bridge }, ({ emit, fed, other, transfer, wait }) =>
          Effect.gen(function* () {
            transfer.start(destination)
            yield* wait("2 seconds")
            expect([joins.length, fed]).toEqual([2, ["ringing", "completed"]])
            emit(audio)
            emit(audio)
            yield* wait("100 millis")
            expect(other.frames.length > 0).toBe(fails)
            other.emit({ _tag: "Ended", cause: "hangup" })
            expect(fed.at(-1)).toBe("CallerHungUp")
          })
        )
      }
    })
  )

  describe("with an announcement", () => {
    const text = { text: "A caller for you.", voice: "Sarah", language: "en-US" }
    const mark: CallEvent = { _tag: "Mark", name: text.text, outcome: "played" }

    it.live("dials also where the network transfers, and joins the parties when the destination has heard it", () =>
      bench(
        { transfers: true, dial: answers },
        ({ announced, caller, dialled, emit, fed, other, passed, transfer, wait }) =>
          Effect.gen(function* () {
            transfer.start(destination, text)
            yield* wait("5 seconds")
            expect([caller.blind, dialled.length, announced, fed]).toEqual([[], 1, [text.text], ["ringing"]])
            // The caller still waits: hears the ringing tone, and not the destination.
            const heard = caller.frames.length
            other.emit(audio)
            emit(audio)
            yield* wait("1 second")
            expect(caller.frames.length).toBeGreaterThan(heard + 40)
            expect([other.frames, passed]).toEqual([[], ["Audio"]])
            other.emit(mark)
            yield* wait("100 millis")
            expect(fed).toEqual(["ringing", "completed"])
            emit(audio)
            emit(audio)
            yield* wait("100 millis")
            expect(other.frames.length).toBeGreaterThan(0)
            expect(transfer.used()).toEqual({ characters: text.text.length, cached_characters: 0 })
          })
      )
    )

    it.live("fails as rejected when the destination hangs up meanwhile, and may be repeated", () =>
      bench({ dial: answers }, ({ announced, caller, fed, other, transfer, wait }) =>
        Effect.gen(function* () {
          transfer.start(destination, text)
          yield* wait("2 seconds")
          other.emit({ _tag: "Ended", cause: "hangup" })
          expect(fed.at(-1)).toBe("rejected: the destination hung up during the announcement")
          transfer.cancel()
          yield* wait("1 second")
          const heard = caller.frames.length
          yield* wait("5 seconds")
          expect([fed.length, caller.frames.length]).toEqual([2, heard])
          transfer.start(destination, text)
          yield* wait("2 seconds")
          expect(announced.length).toBe(2)
        })
      )
    )

    it.live("hangs the destination up when the caller does meanwhile", () =>
      bench({ dial: answers }, ({ fed, other, transfer, wait }) =>
        Effect.gen(function* () {
          transfer.start(destination, text)
          yield* wait("2 seconds")
          transfer.end("caller-hangup")
          other.emit(mark)
          yield* wait("1 second")
          expect([other.hangups, fed]).toEqual([["caller-hangup"], ["ringing"]])
        })
      )
    )

    it.live("is blind, without it, where no network can dial", () =>
      bench({ transfers: true }, ({ announced, caller, transfer }) =>
        Effect.sync(() => {
          transfer.start(destination, text)
          expect([caller.blind, announced]).toEqual([[destination], []])
        })
      )
    )
  })
})
