import { describe, expect, it } from "@effect/vitest"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { Effect, Exit, Scope, TestClock, TestServices } from "effect"
import { after } from "../src/testing/EmulatedDeepgram.ts"
import { listen, messagesOf, queryOf, setUp, until } from "./Provided.ts"

describe("Nova (/v1/listen)", () => {
  it.live("asks for the format, language, formatting, keyterms and pauses of the session", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      yield* listen(at, { language: "nb-NO", keyterms: ["Svc", "Zoë Ægir", " "], endpointingMs: 1500 })
      expect(queryOf(at)).toEqual({
        model: "nova-3",
        channels: "1",
        interim_results: "true",
        vad_events: "true",
        endpointing: "1500",
        utterance_end_ms: "1500",
        language: "no",
        smart_format: "true",
        keyterm: "Zoë Ægir",
        encoding: "mulaw",
        sample_rate: "8000"
      })
      expect(at.server.peers[0]?.request.query.getAll("keyterm")).toEqual(["Svc", "Zoë Ægir"])
      yield* listen(at, { format: "numerals", sampleRate: 16_000 })
      expect(queryOf(at)).toMatchObject({
        numerals: "true",
        punctuate: "true",
        encoding: "linear16",
        language: "en-US"
      })
      yield* listen(at, { format: "raw" })
      expect(queryOf(at)).not.toHaveProperty("punctuate")
      const multilingual = yield* setUp({}, { multilingual: "true" })
      const spanish = yield* listen(multilingual, { language: "es-ES" })
      expect(queryOf(multilingual)).toMatchObject({ language: "multi", language_hint: "es" })
      spanish.say("hola ")
      yield* spanish.session.finish
      expect(spanish.events.at(-1)).toMatchObject({ _tag: "Final", text: "hola", language: "es" })
    }).pipe(Effect.scoped)
  )

  it.live("emits partials, words with their times, and the end of the turn", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.pause(100)
      heard.say("hello to you")
      heard.pause(700)
      yield* until(() => heard.tags().includes("EndOfTurn"))
      expect(heard.events[0]).toEqual({ _tag: "SpeechStarted" })
      const partials = heard.events.filter(({ _tag }) => _tag === "Partial")
      expect(partials[0]).toEqual({ _tag: "Partial", text: "hello" })
      expect(heard.events.at(-2)).toEqual({
        _tag: "Final",
        text: "hello to you",
        confidence: 0.98,
        words: [
          { text: "hello", start: 100, end: 200 },
          { text: "to", start: 220, end: 260 },
          { text: "you", start: 280, end: 340 }
        ]
      })
      // In another turn the words are its own.
      heard.say("bye ")
      heard.pause(700)
      yield* until(() => heard.tags().filter((tag) => tag === "EndOfTurn").length === 2)
      expect(heard.finals()).toEqual(["hello to you", "bye"])
    }).pipe(Effect.scoped)
  )

  it.live("ends a turn by the gap between words where noise hides the pause, and not while words are said", () =>
    Effect.gen(function* () {
      const results = (text: string, isFinal: boolean) => ({
        type: "Results",
        is_final: isFinal,
        speech_final: false,
        channel: { alternatives: [{ transcript: text, confidence: 0.9, words: [] }] }
      })
      const gap = { type: "UtteranceEnd", channel: [0, 1], last_word_end: 1 }
      const at = yield* setUp({
        fault: (_, peer) =>
          Effect.sync(() => {
            for (const message of [
              gap,
              results("one", true),
              results("two", false),
              gap,
              results("two", true),
              gap,
              gap
            ])
              peer.send(message)
          })
      })
      const heard = yield* listen(at)
      yield* until(() => heard.tags().includes("EndOfTurn"))
      expect(heard.tags()).toEqual(["Final", "Partial", "Final", "EndOfTurn"])
    }).pipe(Effect.scoped)
  )

  it.live("flush makes words final, and finish gets those that are still to come", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.say("one two")
      heard.session.flush?.()
      yield* until(() => heard.finals().length === 1)
      expect(heard.finals()).toEqual(["one two"])
      expect(heard.tags()).not.toContain("EndOfTurn")
      heard.say(" three")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one two", "three"])
      expect(messagesOf(at)).toEqual([{ type: "Finalize" }, { type: "CloseStream" }])
      yield* until(() => at.server.openPeers() === 0)
      expect([at.double.counted("audio_seconds"), at.double.counted("connections_lost")]).toEqual([0, 0])
    }).pipe(Effect.scoped)
  )

  it.live("changes keyterms in a session, and says that it cannot change language and pauses", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const { session } = yield* listen(at)
      expect(session.update?.({ keyterms: ["Svc", "Svc"], language: "en-US" })).toBe(true)
      expect(session.update?.({ language: "de-DE" })).toBe(false)
      expect(session.update?.({ endpointingMs: 900 })).toBe(false)
      expect(session.update?.({ endpointingMs: 500 })).toBe(true)
      yield* until(() => messagesOf(at).length === 1)
      expect(messagesOf(at)).toEqual([{ type: "Configure", keyterms: ["Svc"] }])
    }).pipe(Effect.scoped)
  )

  it.live("sends as many keyterms as the server takes, and logs the rest", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      yield* listen(at, { keyterms: Array.from({ length: 60 }, (_, n) => `a keyterm with no. ${n}`) })
      const sent = at.server.peers[0]?.request.query.getAll("keyterm") ?? []
      expect(sent.length).toBeGreaterThan(40)
      expect(sent.reduce((sum, keyterm) => sum + Math.ceil(keyterm.length / 2), 0)).toBeLessThanOrEqual(500)
      expect(at.double.logged).toEqual([
        {
          level: "warning",
          message: `${60 - sent.length} of 60 keyterms are left out: Deepgram takes 500 tokens`,
          fields: { call_id: "call_1" }
        }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("a change that the server refuses is logged, and the session goes on", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        fault: (_, peer, work) =>
          Effect.zipRight(
            Effect.sync(() => peer.send({ type: "Error", code: "KeytermsNotSupported", description: "no" })),
            work
          )
      })
      const heard = yield* listen(at)
      heard.say("one")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one"])
      expect(at.double.logged[0]?.message).toContain("Deepgram refused a change:")
    }).pipe(Effect.scoped)
  )

  for (const [model, idle] of [
    ["nova-3", '{"type":"KeepAlive"}'],
    ["flux-general-en", Buffer.alloc(800, 0xff)]
  ] as const) {
    it.effect(
      `${model}: keeps the connection open while no audio comes, and the times of words are right after it`,
      () =>
        Effect.gen(function* () {
          const live = (condition: () => boolean) => TestServices.provideLive(until(condition))
          const at = yield* setUp({}, { model })
          const heard = yield* listen(at)
          const received = () => at.server.peers[0]?.received ?? []
          yield* TestClock.adjust(3999)
          expect(received()).toEqual([])
          for (let n = 1; n <= 5; n++) {
            yield* TestClock.adjust(n === 1 ? 1 : 4000)
            yield* live(() => received().length === n)
          }
          expect(received()).toEqual(Array(5).fill(idle))
          heard.pause(100)
          heard.say("one two")
          heard.pause(700)
          yield* live(() => heard.tags().includes("EndOfTurn"))
          expect(heard.events.find(({ _tag }) => _tag === "Final")).toMatchObject({
            words: [
              { text: "one", start: 100, end: 160 },
              { text: "two", start: 180, end: 240 }
            ]
          })
          expect(at.server.openPeers()).toBe(1)
        }).pipe(Effect.scoped)
    )
  }

  it.effect("a server that says nothing while the caller speaks fails the session, and one in silence does not", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ fault: () => Effect.never })
      const heard = yield* listen(at)
      heard.pause(60_000)
      yield* TestClock.adjust(10_000)
      heard.say("x".repeat(300))
      expect(heard.events).toEqual([])
      yield* TestClock.adjust(5001)
      heard.say("x")
      expect(heard.events).toMatchObject([
        { _tag: "Failed", error: { reason: `${at.server.origin} gave nothing for 5 s of speech`, retryable: true } }
      ])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a server that says nothing has the same time when the system's time is set back or forward meanwhile",
    () =>
      Effect.gen(function* () {
        const at = yield* setUp({ fault: () => Effect.never })
        for (const step of [-3_600_000, 3_600_000]) {
          const system = yield* makeSteppedClock
          const heard = yield* Effect.withClock(listen(at), system.clock)
          heard.say("x".repeat(300))
          yield* system.step(step)
          yield* TestClock.adjust(5000)
          heard.say("x")
          expect(heard.events).toEqual([])
          yield* TestClock.adjust(1)
          heard.say("x")
          expect(heard.events).toMatchObject([{ _tag: "Failed", error: { retryable: true } }])
        }
      }).pipe(Effect.scoped)
  )
})

describe("a connection that fails", () => {
  it.live("fails the session once, with the server's reason, and counts it", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        fault: (_, peer, work) =>
          after(
            3,
            peer,
            work,
            Effect.sync(() => peer.close(1011, "NET-0000"))
          )
      })
      const heard = yield* listen(at)
      heard.say("one two three")
      yield* until(() => heard.tags().includes("Failed"))
      expect(heard.events.at(-1)).toMatchObject({
        _tag: "Failed",
        error: {
          reason: expect.stringMatching(/\/v1\/listen closed the connection with code 1011: NET-0000$/),
          retryable: true
        }
      })
      expect(at.double.counted("connections_lost")).toBe(1)
      yield* heard.session.finish
      expect(heard.tags().filter((tag) => tag === "Failed")).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("opens again after Retry-After if that is soon", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        refuse: (nth) => (nth === 1 ? { status: 429, headers: { "retry-after": "0.01" } } : undefined)
      })
      const heard = yield* listen(at)
      heard.say("one")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one"])
      expect(at.double.counted("rate_limit_waits")).toBe(1)
    }).pipe(Effect.scoped)
  )

  it.live("is closed at the server when the scope of the session closes, also while it opens", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const scope = yield* Scope.make()
      const heard = yield* Scope.extend(listen(at), scope)
      heard.say("one two")
      yield* until(() => heard.events.length > 0)
      yield* Scope.close(scope, Exit.void)
      const count = heard.events.length
      yield* until(() => at.server.openPeers() === 0)
      expect(heard.events).toHaveLength(count)
      expect(at.double.counted("audio_seconds")).toBeCloseTo(0.14)
      const hanging = yield* setUp({ refuse: () => "hang" })
      const opening = yield* Effect.fork(Effect.scoped(listen(hanging)))
      yield* until(() => hanging.server.requests.some(({ path }) => path === "/v1/listen"))
      yield* opening.interruptAsFork(opening.id())
      expect(yield* opening.await.pipe(Effect.map(Exit.isInterrupted))).toBe(true)
    }).pipe(Effect.scoped)
  )
})
