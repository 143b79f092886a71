import { Effect, Fiber } from "effect"
import type { AudioFormat } from "../Audio.ts"
import { type Check, CheckFailed, must, mustSucceed } from "./Check.ts"
import type { OtherBehaviour } from "./Phone.ts"
import {
  audioOf,
  labelled,
  labelsIn,
  labelsOf,
  listen,
  type Network,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

/** Frames that the phone sends before the answer, or after the end of the dialling. */
const sentFrames = 4

const isFormat = ({ encoding, sampleRate }: AudioFormat): boolean =>
  ["mulaw", "alaw", "pcm16"].includes(encoding) && (sampleRate === 8000 || sampleRate === 16_000)

/** The requirements on audio before the answer. They pass when the network declares none. */
export const earlyMediaChecks = (harness: TelephonyHarness): ReadonlyArray<Check> => {
  const { check, eventually, numbers, quiet, within } = harness

  /** A phone that rings, with what `onEarlyMedia` got until now. Undefined: there is nothing to check. */
  const ringing = ({ other, telephony }: Network, behaves: OtherBehaviour) =>
    Effect.gen(function* () {
      const { capabilities, outbound } = telephony
      const [format] = capabilities.formats
      if (outbound === undefined || !capabilities.earlyMedia || format === undefined) return undefined
      const { call, early, number } = yield* other("earlyMedia", behaves)
      if (early === undefined) {
        return yield* new CheckFailed({ reason: "earlyMedia is declared; give the other phone `early`" })
      }
      const got: Array<{ readonly payload: Uint8Array; readonly format: AudioFormat }> = []
      const dialled = yield* Effect.fork(
        Effect.suspend(() =>
          outbound.dial(
            { callId: "call_early", to: number, from: numbers.to, formats: [format] },
            { onEarlyMedia: (payload, of) => void got.push({ payload: new Uint8Array(payload), format: of }) }
          )
        )
      )
      yield* eventually("the phone ringing", () => call.state() === "ringing")
      const send = (index: number) =>
        Effect.forEach(
          labelsOf(format, index, index + sentFrames),
          (_, frame) => early(labelled(format, index + frame)),
          { discard: true }
        )
      const labels = () => labelsIn(Buffer.concat(got.map(({ payload }) => payload)))
      return { call, dialled, format, got, labels, send }
    })

  return [
    check("dial passes the audio before the answer to onEarlyMedia if earlyMedia is declared", (network) =>
      Effect.gen(function* () {
        const phone = yield* ringing(network, "rings")
        if (phone === undefined) return
        const wanted = labelsOf(phone.format, 0, sentFrames)
        yield* phone.send(0)
        yield* eventually("the audio before the answer", () => phone.labels().join() === wanted.join())
        for (const { format, payload } of phone.got) {
          yield* must(isFormat(format), `the format of early media is ${format.encoding} at ${format.sampleRate} Hz`)
          const sampleBytes = format.encoding === "pcm16" ? 2 : 1
          yield* must(payload.length % sampleBytes === 0, "it passed half a sample of early media")
        }
        yield* Fiber.interrupt(phone.dialled)
        const before = phone.got.length
        yield* phone.send(sentFrames)
        yield* quiet
        yield* must(phone.got.length === before, "it passed early media after dial was interrupted")
      })
    ),
    check("early media ends with dial, and the leg does not emit it again", (network) =>
      Effect.gen(function* () {
        const phone = yield* ringing(network, "answers")
        if (phone === undefined) return
        yield* phone.send(0)
        const leg = yield* within("dial", Fiber.join(phone.dialled)).pipe(mustSucceed("dial"))
        const before = phone.got.length
        const events = yield* listen(leg)
        yield* eventually("the answer on the phone", () => phone.call.state() === "answered")
        for (let index = 0; index < sentFrames; index++) {
          yield* phone.call.send(labelled(leg.format, sentFrames + index))
        }
        yield* quiet
        yield* must(phone.got.length === before, "it passed early media after dial had completed")
        const early = labelsOf(leg.format, 0, sentFrames)
        const again = labelsIn(audioOf(events)).filter((label) => early.includes(label))
        yield* must(again.length === 0, "the leg emitted audio from before the answer")
        yield* phone.call.hangup
      })
    )
  ]
}
