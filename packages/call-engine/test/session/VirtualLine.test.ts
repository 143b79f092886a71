import { describe, expect, it } from "@effect/vitest"
import { legFormats, mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import type { CallEvent } from "@svc/providers/Telephony"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import type { NetworkKind } from "../doubles/VirtualPhone.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls over networks that deliver packets, lose them, and send nothing in silence. */

const answer = configuration({ otherwise: "You said {{user}}." }).json

/** Speech-to-text that hears when there is sound, and takes 300 ms of silence for the end of a turn. */
const onSilence = (
  endpointing: "provider" | "none",
  pushed: { samples: number }
): Context.Tag.Service<SpeechToText> => ({
  id: "on-silence",
  capabilities: { languages: ["en-US"], endpointing, sampleRates: [8000], keyterms: false },
  health: Effect.succeed(healthy),
  open: ({ onEvent }) =>
    Effect.sync(() => {
      let silent = Number.POSITIVE_INFINITY
      return {
        push: (samples) => {
          pushed.samples += samples.length
          const energy = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length
          if (energy > 500 ** 2) {
            if (silent > 2400) onEvent({ _tag: "SpeechStarted" })
            silent = 0
          } else if (silent < 2400 && silent + samples.length >= 2400) {
            onEvent({ _tag: "Final", text: "something", confidence: 1 })
            if (endpointing === "provider") onEvent({ _tag: "EndOfTurn" })
            silent = Number.POSITIVE_INFINITY
          } else silent += samples.length
        },
        finish: Effect.void
      }
    })
})

/** Sound like a voice: a fundamental and harmonics whose level goes up and down. */
const voice = (seconds: number): Int16Array =>
  Int16Array.from({ length: seconds * 8000 }, (_, n) => {
    const level = 2500 * (1.2 + Math.sin((2 * Math.PI * 4 * n) / 8000))
    let sum = 0
    for (let harmonic = 1; harmonic < 12; harmonic++)
      sum += Math.sin((2 * Math.PI * 120 * harmonic * n) / 8000) / harmonic
    return Math.round(level * sum)
  })

const times = ({ log }: VirtualCall, tag: string): ReadonlyArray<number> =>
  log.rows.flatMap(({ input }) => (input._tag !== "Facts" && input._tag === tag ? [input.at] : []))

const codecOfLine = { mulaw: "PCMU", alaw: "PCMA", pcm16: "L16" }

const packets = (): number => 0

const networks: ReadonlyArray<{ readonly over: string; readonly network: NetworkKind }> = [
  { over: "no gaps, nothing in silence", network: { dtx: true } },
  { over: "packets", network: { packets } },
  { over: "packets, nothing in silence", network: { packets, dtx: true } },
  // Up to 60 ms of jitter, which also changes the order.
  { over: "packets with jitter, nothing in silence", network: { packets: (index) => (index * 37) % 61, dtx: true } }
]

/** When the agent answers a caller who speaks for a second from 3 s on, in ms of the call. */
const answeredAt = (network: NetworkKind, endpointing: "provider" | "none", silence = 2) =>
  Effect.map(
    during(
      () => ({ speechToText: [onSilence(endpointing, { samples: 0 })] }),
      (call) =>
        Effect.gen(function* () {
          yield* call.wait("3 seconds")
          yield* call.play(Int16Array.from([...voice(1), ...new Int16Array(silence * 8000)]))
          yield* call.wait("9 seconds")
          // Without packets nothing is known of them.
          if (network.packets === undefined) {
            const unknown = { packets_lost: null, packets_late: null, jitter_ms: null }
            expect(call.session.line()).toEqual({ carrier_call_id: null, codec: "PCMU", ...unknown })
          }
          const [, at = Number.NaN] = times(call, "SpeechStarted")
          return at
        }),
      answer,
      [],
      { format: mulaw8k, network }
    ),
    ({ result }) => result
  )

describe("a call", () => {
  for (const endpointing of ["provider", "none"] as const) {
    it.live.each(networks)(
      `over $over is answered as fast as one that sends silence; endpointing: ${endpointing}`,
      ({ network }) =>
        Effect.gen(function* () {
          const wanted = yield* answeredAt({}, endpointing)
          const at = yield* answeredAt(network, endpointing)
          expect(wanted).toBeGreaterThan(4000)
          expect(Math.abs(at - wanted)).toBeLessThanOrEqual(60)
        })
    )
  }

  it.live.each([
    { what: "is put on hold", events: [{ _tag: "Hold", on: true }] },
    { what: "loses its media connection", events: [{ _tag: "Media", on: false }] },
    { what: "sends nothing any more", events: [] }
  ] satisfies ReadonlyArray<{ readonly what: string; readonly events: ReadonlyArray<CallEvent> }>)(
    "whose caller $what in the middle of a word answers what was said, and goes on when the caller is back",
    ({ events }) =>
      Effect.forEach([{}, { packets }], (network) =>
        Effect.gen(function* () {
          const pushed = { samples: 0 }
          const { result } = yield* during(
            () => ({ speechToText: [onSilence("provider", pushed)] }),
            (call) =>
              Effect.gen(function* () {
                yield* call.wait("3 seconds")
                yield* call.play(voice(1))
                yield* call.wait("1 second")
                for (const event of events) yield* call.emit(event)
                yield* call.wait("1 second")
                const stopped = times(call, "CallerSpeechStopped").length
                yield* call.wait("29 seconds")
                const inSilence = pushed.samples
                for (const { _tag } of events) yield* call.emit({ _tag, on: _tag === "Media" })
                yield* call.play(Int16Array.from([...voice(1), ...new Int16Array(8000)]))
                yield* call.wait("4 seconds")
                return {
                  stopped,
                  inSilence,
                  all: pushed.samples,
                  ends: times(call, "CallerEndOfTurn"),
                  turns: call.turns()
                }
              }),
            answer,
            [],
            { format: mulaw8k, network }
          )
          expect(result.stopped).toBeGreaterThan(0)
          expect(result.turns.filter((turn) => turn === "user: something").length).toBe(2)
          expect(result.ends[0]).toBeLessThan(4000 + 80 + 300 + 200)
          // One second of speech and six of silence, although half a minute went by.
          expect(result.inSilence / 8000).toBeCloseTo(7, 1)
          // And no more at once when the audio returns.
          expect((result.all - result.inSilence) / 8000).toBeLessThan(4.1)
        })
      )
  )

  it.live.each(legFormats.map((format) => ({ format, name: `${format.encoding} at ${format.sampleRate} Hz` })))(
    "over a network that reorders, delays and loses packets is understood: $name",
    ({ format }) =>
      Effect.gen(function* () {
        let state = 9
        const next = () => {
          state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
          return state / 4_294_967_296
        }
        const network = { dtx: true, packets: () => (next() < 0.02 ? undefined : Math.floor(next() * 100)) }
        const { result } = yield* during(
          () => ({}),
          (call) =>
            Effect.gen(function* () {
              yield* call.wait("3 seconds")
              for (const text of ["One two three four", "Five six seven"]) {
                yield* call.say(text)
                yield* call.wait("7 seconds")
              }
              return { turns: call.turns().filter((turn) => turn.startsWith("user")), line: call.session.line() }
            }),
          answer,
          [],
          { format, network }
        )
        expect(result.turns).toEqual(["user: One two three four", "user: Five six seven"])
        const { packets_late, packets_lost, jitter_ms, ...line } = result.line ?? {}
        expect(line).toEqual({ carrier_call_id: null, codec: codecOfLine[format.encoding] })
        expect(packets_lost).toBeGreaterThan(0)
        expect(packets_late).toBeLessThan(20)
        // Delays of 0 to 100 ms differ by 33 ms on average.
        expect(jitter_ms).toBeGreaterThan(20)
        expect(jitter_ms).toBeLessThan(50)
      })
  )
})
