import { describe, expect, it } from "@effect/vitest"
import type { SpeechRequest } from "@svc/providers/TextToSpeech"
import { Effect, Exit, Scope } from "effect"
import { heardIn } from "../src/testing/EmulatedDeepgram.ts"
import { type Setup, setUp, until } from "./Provided.ts"

/** A turn, and what was written. */
const turnOf = ({ textToSpeech }: Setup, more: Partial<SpeechRequest> = {}) =>
  Effect.gen(function* () {
    const chunks: Array<Int16Array> = []
    const aligned: Array<readonly [number, number]> = []
    const length = () => chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    const turn = yield* textToSpeech.open({
      callId: "call_1",
      turn: "1",
      voice: "Sarah",
      language: "en-US",
      sampleRate: 8000,
      speed: 1,
      sink: {
        write: (samples) => chunks.push(samples) > 0,
        align: (characters, atSample) => void aligned.push([characters, atSample]),
        drained: Effect.void
      },
      ...more
    })
    return { turn, chunks, aligned, length, heard: () => heardIn(Int16Array.from(chunks.flatMap((c) => [...c])), 8000) }
  })
const sentOf = ({ server }: Setup) =>
  (server.peers.at(-1)?.received ?? []).map((message): unknown => JSON.parse(String(message)))
const flush = { type: "Flush" }
const say = (text: string) => ({ type: "Speak", text })

describe("text-to-speech", () => {
  it.live("asks for the model of the voice, which speaks the language of the agent", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const cases: ReadonlyArray<readonly [Partial<SpeechRequest>, Record<string, string>]> = [
        [{}, { model: "aura-2-thalia-en" }],
        [
          { language: "de-DE", sampleRate: 24_000 },
          { model: "aura-2-viktoria-de", sample_rate: "24000" }
        ],
        [
          { voice: "zEUS", speed: 2 },
          { model: "aura-2-zeus-en", speed: "1.5" }
        ],
        [{ voice: "aura-2-lara-de", language: "de-DE", speed: 1.2 }, { model: "aura-2-lara-de" }]
      ]
      yield* until(() => at.textToSpeech.voices.some(({ name }) => name === "Zeus"))
      for (const [request, query] of cases) {
        yield* turnOf(at, request)
        expect(Object.fromEntries(at.server.peers.at(-1)?.request.query ?? [])).toEqual({
          encoding: "linear16",
          sample_rate: "8000",
          ...query
        })
      }
      for (const request of [{ voice: "Zeus", language: "de-DE" }, { language: "pl-PL" }, { voice: "nobody" }]) {
        const error = yield* Effect.flip(turnOf(at, request))
        expect(error).toMatchObject({ _tag: "TextToSpeechError", retryable: false })
        expect(error.reason).toMatch(/^there is no voice ".*" that speaks /)
      }
    }).pipe(Effect.scoped)
  )

  it.live("lists the server's voices with their languages and genders", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      yield* until(() => at.textToSpeech.voices.some(({ name }) => name === "Zeus"))
      expect(at.textToSpeech.voices).toEqual([
        { name: "Sarah", languages: ["en-US", "en-GB", "de-DE"], gender: "female" },
        { name: "Thalia", languages: ["en-US", "en-GB"], gender: "female" },
        { name: "Viktoria", languages: ["de-DE"], gender: "female" },
        { name: "Zeus", languages: ["en-US", "en-GB"], gender: "male" },
        { name: "Lara", languages: ["de-DE"], gender: "female" }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("flushes the first text at once, and what was said meanwhile when that was spoken", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const { aligned, heard, length, turn } = yield* turnOf(at)
      turn.say("Hello. ")
      turn.say("How are ")
      turn.say("you?")
      turn.say(" ")
      yield* until(() => sentOf(at).length >= 5)
      turn.say("Bye.")
      turn.end()
      yield* turn.done
      expect(heard()).toBe("Hello. How are you?Bye.")
      expect(sentOf(at).slice(0, 5)).toEqual([say("Hello. "), flush, say("How are "), say("you?"), flush])
      expect(sentOf(at).slice(-2)).toEqual([say("Bye."), flush])
      expect(aligned[0]).toEqual([7, 7 * 160])
      expect(aligned.at(-1)).toEqual([24, length()])
      expect(at.double.counted("characters")).toBe(24)
    }).pipe(Effect.scoped)
  )

  it.live("sends long texts in messages that the server takes, and flushes no more often than it allows", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const { turn } = yield* turnOf(at)
      for (let n = 0; n < 30; n++) {
        turn.say(n === 0 ? "word ".repeat(500) : `${n} `)
        const sent = () => sentOf(at).filter((message) => Object(message).type === "Flush").length
        yield* until(() => sent() === Math.min(18, n + 1) && at.server.peers[0]?.received.length !== 0)
      }
      turn.end()
      yield* turn.done
      const sent = sentOf(at)
      expect(sent.filter((message) => Object(message).type === "Flush")).toHaveLength(19)
      const [first, second] = sent.map((message) => String(Object(message).text))
      expect([first?.length, second?.length]).toEqual([2000, 500])
    }).pipe(Effect.scoped)
  )

  it.live("is closed at the server when the turn is cancelled, and a full sink lets the server wait", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const scope = yield* Scope.make()
      const chunks: Array<number> = []
      const sink = {
        write: (samples: Int16Array) => {
          chunks.push(samples.length)
          return false
        },
        align: () => {},
        drained: Effect.never
      }
      const { turn } = yield* Scope.extend(turnOf(at, { sink }), scope)
      turn.say("x".repeat(1900))
      yield* until(() => chunks.length > 0)
      yield* Scope.close(scope, Exit.void)
      yield* until(() => at.server.openPeers() === 0)
      expect(chunks).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("fails when the audio is cut in a sample, and when the server says that it failed", () =>
    Effect.gen(function* () {
      const cases = [
        [[Buffer.alloc(3), { type: "Flushed", sequence_id: 0 }], "the audio ended in the middle of a sample"],
        [[{ type: "Error", description: "no voice" }], "failed: {"]
      ] as const
      for (const [messages, reason] of cases) {
        const at = yield* setUp({
          fault: (_, peer) =>
            Effect.andThen(peer.next, () =>
              Effect.andThen(peer.next, () => messages.forEach((message) => void peer.send(message)))
            )
        })
        const { turn } = yield* turnOf(at)
        turn.say("Hello.")
        const error = yield* Effect.flip(turn.done)
        expect(error._tag).toBe("TextToSpeechError")
        expect(error.reason).toContain(reason)
      }
    }).pipe(Effect.scoped)
  )

  it.live("logs what the server warns of, and goes on", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        fault: (_, peer, work) =>
          Effect.zipRight(
            Effect.sync(() => peer.send({ type: "Warning", description: "slow down", code: "FLUSH" })),
            work
          )
      })
      const { heard, turn } = yield* turnOf(at)
      turn.say("Hello.")
      turn.end()
      yield* turn.done
      expect(heard()).toBe("Hello.")
      expect(at.double.logged).toMatchObject([{ level: "warning", message: expect.stringContaining("slow down") }])
    }).pipe(Effect.scoped)
  )
})
