import { Deferred, Effect, Layer, Queue, Stream } from "effect"
import { type AudioFormat, mulaw8k } from "../../src/Audio.ts"
import { healthy } from "../../src/Health.ts"
import { CallGone, DialFailed, Telephony } from "../../src/Telephony.ts"
import type { ConnectPhone, OtherBehaviour, Phone } from "../../src/testing/Phone.ts"
import { type Delivery, type Item, makeReferenceCall, type ReferenceCall, type TelephonyBug } from "./ReferenceCall.ts"
import { type CarrierBug, referenceCarrier } from "./ReferenceCarrier.ts"
import { referenceMessaging } from "./ReferenceMessaging.ts"
import { ReferencePhones } from "./ReferencePhones.ts"

const pcm16k: AudioFormat = { encoding: "pcm16", sampleRate: 16000 }

/** The phone of each network. */
const networks = new WeakMap<object, Phone>()

/** A telephone network in memory. */
export const referenceTelephony = (
  bug?: TelephonyBug | CarrierBug,
  delivery: Delivery = "frames"
): Layer.Layer<Telephony> => {
  const is = (...bugs: ReadonlyArray<TelephonyBug | CarrierBug>) => bug !== undefined && bugs.includes(bug)
  return Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const incoming = yield* Queue.unbounded<Stream.Stream.Success<(typeof Telephony.Service)["incoming"]>>()
      const scope = yield* Effect.scope
      const queues: Array<(item: Item) => void> = []
      const phones = new ReferencePhones()
      let broken = false
      let count = 0
      const formats = [mulaw8k, pcm16k]
      const { messages, messaging, text } = yield* referenceMessaging(is)
      const telephony: typeof Telephony.Service = {
        id: "reference",
        capabilities: {
          formats,
          dtmfIn: true,
          dtmfOut: true,
          transfer: "bridge",
          earlyMedia: true,
          playbackMarks: "exact"
        },
        incoming: Stream.fromQueue(incoming),
        outbound: {
          dial: ({ formats: offered, to }, progress) =>
            Effect.gen(function* () {
              if (is("hangs on dial")) return yield* Effect.never
              const format = offered[0] ?? (is("accepts any format in dial") ? mulaw8k : undefined)
              if (format === undefined) return yield* new DialFailed({ outcome: "failed", reason: "no format" })
              const bugs = {
                ringsOn: is("continues to ring after an interrupted dial"),
                answersAll: is("connects busy phones")
              }
              const call = called.get(to)
              if (call === undefined) return yield* Effect.dieMessage("no call")
              const carrierCallId = `carrier-${to}`
              progress?.onPlaced?.(is("places calls with another id than their legs") ? to : carrierCallId)
              if (!is("passes no early media")) call.passEarly((frame) => progress?.onEarlyMedia?.(frame, format))
              yield* phones
                .call(to, bugs)
                .pipe(
                  Effect.onInterrupt(() =>
                    Effect.sync(() => !is("passes early media after an interrupted dial") && call.passEarly(undefined))
                  )
                )
              if (!is("passes early media after the answer")) call.passEarly(undefined)
              if (!is("dials without audio")) yield* playing(call)
              return { ...call.leg(format), carrierCallId }
            })
        },
        health: Effect.succeed(healthy),
        sms: messaging,
        ...referenceCarrier(is),
        routes: []
      }
      const called = new Map<string, ReferenceCall>()
      const playing = (call: ReferenceCall) =>
        Effect.zipRight(Effect.sleep(20), call.playNext).pipe(
          Effect.repeat({ until: () => call.isOver() && !is("leaks fibers") }),
          Effect.forkIn(scope)
        )
      const other = (behaves: OtherBehaviour) =>
        Effect.gen(function* () {
          const call = makeReferenceCall(
            is,
            yield* Deferred.make<void>(),
            queues,
            phones,
            scope,
            yield* Effect.clock,
            delivery
          )
          const number = phones.add(behaves, call)
          called.set(number, call)
          return { number, call: call.phone, early: (frame: Uint8Array) => Effect.sync(() => call.early(frame)) }
        })
      const dial = ({ from, to }: { readonly from: string; readonly to: string }) =>
        Effect.gen(function* () {
          const canceled = yield* Deferred.make<void>()
          const call = makeReferenceCall(is, canceled, queues, phones, scope, yield* Effect.clock, delivery)
          if (is("completes canceled for every call")) yield* Deferred.succeed(canceled, undefined)
          const player = playing(call)
          if (!is("emits no incoming calls") && !broken) {
            yield* Queue.offer(incoming, {
              id: `reference-${++count}`,
              from: is("drops the caller's number") ? null : from,
              to,
              headers: {},
              ringing: () => call.ring(),
              reject: () => call.reject(),
              canceled: Deferred.await(canceled),
              answer: ({ formats: offered }) =>
                Effect.gen(function* () {
                  if (is("hangs on answer")) return yield* Effect.never
                  if (is("dies on answer")) return yield* Effect.die("no media")
                  if (call.isOver() && !is("answers canceled calls")) {
                    return yield* new CallGone({ reason: "the caller hung up" })
                  }
                  call.answer()
                  yield* player
                  return call.leg(is("answers in one format only") ? mulaw8k : (offered[0] ?? mulaw8k))
                })
            })
          }
          const garbage = Effect.sync(() => {
            broken = is("stops on malformed data")
          })
          return { ...call.phone, garbage }
        })
      networks.set(telephony, { dial, other, messages, text })
      return telephony
    })
  )
}

/** Connects the phone of a reference network. */
export const connectPhone: ConnectPhone = (telephony) =>
  Effect.orDieWith(Effect.fromNullable(networks.get(telephony)), () => new Error("not the reference network"))
