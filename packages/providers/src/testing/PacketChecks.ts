import { Clock, Effect } from "effect"
import { frameMs } from "../Audio.ts"
import type { CallEvent } from "../Telephony.ts"
import { type Check, CheckFailed, must } from "./Check.ts"
import {
  audioOf,
  type Connected,
  labelled,
  labelsIn,
  labelsOf,
  listen,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

type AudioEvent = Extract<CallEvent, { readonly _tag: "Audio" }>

/** A packet: an `Audio` event with both numbers. */
type Packet = AudioEvent & { readonly sequence: number; readonly timestamp: number }

const isPacket = (event: AudioEvent): event is Packet => event.sequence !== undefined && event.timestamp !== undefined

const isCount = (value: number, most: number): boolean => Number.isInteger(value) && value >= 0 && value <= most

/** Frames of each of the two runs that the phone sends. */
const runFrames = 10
/** The pause between them, in milliseconds. */
const pauseMs = 500

/** The requirements on the pieces in which a leg emits audio, and on their numbers. */
export const packetChecks = ({ check, eventually }: TelephonyHarness): ReadonlyArray<Check> => {
  /** Sends frames, and returns when each was sent. */
  const send = ({ leg, phone }: Connected, from: number, to: number) =>
    Effect.forEach(
      Array.from({ length: to - from }, (_, index) => from + index),
      (index) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          yield* phone.send(labelled(leg.format, index))
          yield* Effect.sleep(frameMs)
          return at
        })
    )

  const arrived = ({ events, leg }: Connected, index: number) => {
    const label = labelsOf(leg.format, index, index + 1)[0] ?? 0
    return eventually("the last frame", () => labelsIn(audioOf(events)).includes(label))
  }

  return [
    check("a leg emits whole samples in each declared format", ({ answer, ring, telephony }) =>
      Effect.forEach(
        telephony.capabilities.formats,
        (format) =>
          Effect.gen(function* () {
            const { call, phone } = yield* ring
            const leg = yield* answer(call, [format])
            const connected = { leg, phone, events: yield* listen(leg) }
            yield* eventually("the answer on the phone", () => phone.state() === "answered")
            yield* send(connected, 0, runFrames)
            yield* arrived(connected, runFrames - 1)
            const sampleBytes = format.encoding === "pcm16" ? 2 : 1
            const cut = connected.events.find((e) => e._tag === "Audio" && e.payload.length % sampleBytes !== 0)
            yield* must(cut === undefined, `it emitted half a sample of ${format.encoding} at ${format.sampleRate} Hz`)
          }).pipe(Effect.scoped),
        { discard: true }
      )
    ),
    check("a leg numbers every packet or none, with timestamps that count samples, also in pauses", ({ connect }) =>
      Effect.gen(function* () {
        const connected = yield* connect
        const { events, leg } = connected
        const before = yield* send(connected, 0, runFrames)
        yield* Effect.sleep(pauseMs)
        const after = yield* send(connected, runFrames, 2 * runFrames)
        yield* arrived(connected, 2 * runFrames - 1)
        const audio = events.flatMap((event) => (event._tag === "Audio" ? [event] : []))
        if (audio.every(({ sequence, timestamp }) => sequence === undefined && timestamp === undefined)) return
        const packets = audio.filter(isPacket)
        yield* must(packets.length === audio.length, "it gave only some of the audio both a sequence and a timestamp")
        for (const [index, { sequence, timestamp }] of packets.entries()) {
          yield* must(isCount(sequence, 0xffff), `the sequence ${sequence} is not a whole number below 2^16`)
          yield* must(isCount(timestamp, 0xffff_ffff), `the timestamp ${timestamp} is not a whole number below 2^32`)
          const former = packets[index - 1]
          const step = former === undefined ? 1 : (sequence - former.sequence) & 0xffff
          yield* must(step > 0 && step < 0x8000, `the sequence ${sequence} follows ${former?.sequence}`)
        }
        const packetOf = (index: number) => {
          const label = labelsOf(leg.format, index, index + 1)[0] ?? 0
          const found = packets.find(({ payload }) => labelsIn(payload).includes(label))
          return found === undefined ? new CheckFailed({ reason: "a frame was not emitted" }) : Effect.succeed(found)
        }
        const sent = [...before, ...after]
        for (const [what, from, to] of [
          ["speech", 0, runFrames - 1],
          ["a pause", runFrames - 1, runFrames]
        ] as const) {
          const [first, last] = [yield* packetOf(from), yield* packetOf(to)]
          const samples = (last.timestamp - first.timestamp) >>> 0
          const ms = (sent[to] ?? 0) - (sent[from] ?? 0)
          const real = (samples * 1000) / leg.format.sampleRate
          yield* must(
            real > ms / 2 && real < ms * 2,
            `its timestamps rose by ${samples} in ${ms} ms of ${what}, which are ${(ms * leg.format.sampleRate) / 1000} samples`
          )
        }
      })
    )
  ]
}
