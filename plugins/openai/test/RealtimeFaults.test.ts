import { describe, expect, it } from "@effect/vitest"
import type { EmulatedPeer } from "@svc/providers/testing/EmulatedServer"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { Effect, TestClock, TestServices } from "effect"
import { apiKey } from "./Provided.ts"
import { listen, messagesOf, setUp, until } from "./Realtime.ts"

/** Does something when the client has committed. */
const onCommit = (breakIt: (peer: EmulatedPeer) => void) => ({
  transcriptMs: () => undefined,
  fault: (_: number, peer: EmulatedPeer, work: Effect.Effect<void>) =>
    Effect.zipRight(
      Effect.raceFirst(
        work,
        until(() => peer.received.some((message) => String(message).includes("input_audio_buffer.commit")))
      ),
      Effect.sync(() => breakIt(peer))
    )
})
const live = (condition: () => boolean) => TestServices.provideLive(until(condition))
const transcription = "conversation.item.input_audio_transcription"

describe("a transcription session that breaks", () => {
  it.live("fails once when the connection is lost in the middle of a word, with the reason, and counts it", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.session.voiceActivity?.(true)
      heard.push("one two thr")
      yield* until(() => heard.partials().includes("one two"))
      at.server.peers[0]?.breakOff()
      yield* until(() => heard.tags().includes("Failed"))
      expect(heard.tags()).toEqual(["Partial", "Partial", "Failed"])
      expect(heard.events.at(-1)).toMatchObject({
        error: {
          reason: expect.stringMatching(/\/v1\/realtime closed the connection without a reason$/),
          retryable: true
        }
      })
      expect(at.double.counted("connections_lost")).toBe(1)
      heard.push("ee")
      heard.session.voiceActivity?.(false)
      expect(heard.session.update?.({ language: "de-DE" })).toBe(false)
      yield* heard.session.finish
      expect(heard.events).toHaveLength(3)
    }).pipe(Effect.scoped)
  )

  it.live("fails when the server ends the session because of its age, with what the server says", () =>
    Effect.gen(function* () {
      const message = "Your session hit the maximum duration of 60 minutes."
      const at = yield* setUp(
        onCommit((peer) => {
          peer.send({
            type: "error",
            event_id: "e",
            error: { type: "invalid_request_error", code: "session_expired", message }
          })
          peer.close(1001, message)
        })
      )
      const heard = yield* listen(at)
      heard.say("one")
      yield* until(() => heard.tags().includes("Failed"))
      expect(heard.events.filter(({ _tag }) => _tag === "Failed")).toMatchObject([
        { error: { reason: `${at.server.origin}/v1/realtime answered with an error: ${message}`, retryable: true } }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("fails when a stretch of speech gets no transcript, so that another session hears it", () =>
    Effect.gen(function* () {
      for (const [event, reason] of [
        [
          { type: `${transcription}.failed`, item_id: "item_1", error: { message: `no ${apiKey}` } },
          "made no transcript: no …"
        ],
        [
          { type: "error", error: { type: "server_error", message: "sorry", event_id: "commit_1" } },
          "answered with an error: sorry"
        ]
      ] as const) {
        const at = yield* setUp(onCommit((peer) => peer.send(event)))
        const heard = yield* listen(at)
        heard.say("one")
        yield* until(() => heard.tags().includes("Failed"))
        expect(heard.events.at(-1)).toMatchObject({
          error: { reason: `${at.server.origin}/v1/realtime ${reason}`, retryable: true }
        })
      }
    }).pipe(Effect.scoped)
  )

  it.live("fails at what is no event, or an event without its fields", () =>
    Effect.gen(function* () {
      for (const [message, reason] of [
        [Buffer.from([1, 2, 3]), "bytes where an event was expected"],
        ['{"kind":1}', "no JSON with a type"],
        [
          { type: `${transcription}.completed`, item_id: 7 },
          `the event ${transcription}.completed lacks a required field`
        ],
        [{ type: `${transcription}.delta`, item_id: "item_1", delta: "x".repeat(100_001) }, "100000 characters"]
      ] as const) {
        const at = yield* setUp(onCommit((peer) => peer.send(message)))
        const heard = yield* listen(at)
        heard.say("one")
        yield* until(() => heard.tags().includes("Failed"))
        expect(heard.events.at(-1)).toMatchObject({
          error: { reason: expect.stringContaining(reason), retryable: true }
        })
      }
    }).pipe(Effect.scoped)
  )

  it.live("ignores what a server repeats, answers to nothing, and other events", () =>
    Effect.gen(function* () {
      const completed = (item_id: string, transcript: string) => ({
        type: `${transcription}.completed`,
        item_id,
        transcript
      })
      const at = yield* setUp(
        onCommit((peer) => {
          for (const message of [
            { type: "rate_limits.updated", rate_limits: [] },
            { type: "input_audio_buffer.committed", item_id: "item_1" },
            { type: "input_audio_buffer.committed", item_id: "item_1" },
            completed("item_1", "one"),
            completed("item_1", "one"),
            { type: `${transcription}.delta`, item_id: "item_1", delta: "one" },
            completed("item_2", "never said"),
            { type: "error", error: { type: "server_error", message: "hm" } }
          ]) {
            peer.send(message)
          }
        })
      )
      const heard = yield* listen(at)
      heard.say("one")
      yield* until(() => at.double.logged.length > 0)
      expect(heard.finals()).toEqual(["one"])
      expect(heard.tags()).not.toContain("Failed")
      expect(at.double.logged).toMatchObject([{ level: "warning", message: expect.stringMatching(/error: hm$/) }])
    }).pipe(Effect.scoped)
  )

  it.live("goes on when the server finds no audio in a stretch", () =>
    Effect.gen(function* () {
      const at = yield* setUp(
        onCommit((peer) => {
          const error = { code: "input_audio_buffer_commit_empty", message: "too small", event_id: "commit_1" }
          peer.send({ type: "error", error })
        })
      )
      const heard = yield* listen(at)
      heard.say("one")
      yield* heard.session.finish
      expect(heard.finals()).toEqual([])
      expect(heard.tags()).not.toContain("Failed")
    }).pipe(Effect.scoped)
  )

  it.effect("fails when a commit has no answer for 6 s, or the last one none for 4 s", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ transcriptMs: () => undefined })
      const heard = yield* listen(at)
      heard.pause(60_000)
      yield* TestClock.adjust("1 minute")
      heard.say("one")
      yield* TestClock.adjust(6000)
      heard.pause(20)
      expect(heard.tags()).not.toContain("Failed")
      yield* TestClock.adjust(1)
      heard.pause(20)
      expect(heard.events.at(-1)).toMatchObject({
        _tag: "Failed",
        error: { reason: `${at.server.origin}/v1/realtime did not answer a commit within 6 s`, retryable: true }
      })
      const other = yield* listen(at)
      other.say("two")
      const finish = yield* Effect.fork(other.session.finish)
      yield* TestClock.adjust(4000)
      yield* finish.await
      expect(other.events.at(-1)).toMatchObject({
        _tag: "Failed",
        error: { reason: `${at.server.origin}/v1/realtime did not answer the last commit within 4s` }
      })
    }).pipe(Effect.scoped)
  )

  it.effect("waits as long for the answer to a commit when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ transcriptMs: () => undefined })
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        const heard = yield* Effect.withClock(listen(at), system.clock)
        heard.say("one")
        yield* system.step(step)
        yield* TestClock.adjust(6000)
        heard.pause(20)
        expect(heard.tags()).not.toContain("Failed")
        yield* TestClock.adjust(1)
        heard.pause(20)
        expect(heard.tags()).toContain("Failed")
      }
    }).pipe(Effect.scoped)
  )
})

describe("a transcription session that does not open", () => {
  it.live("names the setting of a refused key, as an HTTP answer and as an event, and never the key", () =>
    Effect.gen(function* () {
      const error = { type: "invalid_request_error", code: "invalid_api_key", message: `Incorrect API key ${apiKey}` }
      for (const options of [
        { key: "another" },
        { fault: (_: number, peer: EmulatedPeer) => Effect.sync(() => peer.send({ type: "error", error })) }
      ]) {
        const at = yield* setUp(options)
        const failure = yield* Effect.flip(listen(at))
        const reason = `SVC_OPENAI_API_KEY was refused: ${at.server.origin}/v1 answered 401`
        expect(failure).toMatchObject({ _tag: "SpeechToTextError", reason, retryable: true })
        expect(yield* at.speechToText.health).toEqual({ healthy: false, reason })
        expect(JSON.stringify([at.double.logged, failure])).not.toContain(apiKey)
      }
    }).pipe(Effect.scoped)
  )

  it.live("is opened again after Retry-After if that is soon, else fails at once", () =>
    Effect.gen(function* () {
      const limited = (seconds: string) => (nth: number) =>
        nth === 1 ? { status: 429, headers: { "retry-after": seconds }, body: "slow down" } : undefined
      const at = yield* setUp({ refuse: limited("0.01") })
      const heard = yield* listen(at)
      heard.say("one")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one"])
      expect(at.double.counted("rate_limit_waits")).toBe(1)
      const busy = yield* setUp({ refuse: limited("30") })
      const failure = yield* Effect.flip(listen(busy))
      expect(failure).toMatchObject({ reason: `${busy.server.origin}/v1 answered 429: slow down`, retryable: true })
    }).pipe(Effect.scoped)
  )

  it.live("says what the server refuses, and that another attempt gives the same", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ refuses: () => ({ message: "The model does not exist", param: "session.model" }) })
      expect(yield* Effect.flip(listen(at))).toMatchObject({
        reason: `${at.server.origin}/v1/realtime answered with an error: The model does not exist`,
        retryable: false
      })
      yield* until(() => at.server.openPeers() === 0)
    }).pipe(Effect.scoped)
  )

  it.effect("fails when the server does not accept a configuration within 4.5 s", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ fault: () => Effect.never })
      const opening = yield* Effect.fork(Effect.flip(listen(at)))
      yield* live(() => messagesOf(at).length === 1)
      yield* TestClock.adjust(4500)
      expect((yield* opening).reason).toBe(`${at.server.origin}/v1/realtime did not accept a session within 4s 500ms`)
      yield* live(() => at.server.openPeers() === 0)
    }).pipe(Effect.scoped)
  )
})
