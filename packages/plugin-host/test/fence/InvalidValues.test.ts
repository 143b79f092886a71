import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import type { Health } from "@svc/providers/Health"
import { LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import type { IncomingSms } from "@svc/providers/Messaging"
import type { SpeechEvent, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { speakText } from "@svc/providers/SpeechTurn"
import { type CallEvent, type CallLeg, DialFailed, type IncomingCall, type LineQuality } from "@svc/providers/Telephony"
import type { SpeechTurn } from "@svc/providers/TextToSpeech"
import { Chunk, Effect, Fiber, Stream, TestClock } from "effect"
import { describe } from "vitest"
import { fencedLanguageModel } from "../../src/fence/FencedLanguageModel.ts"
import { fencedLeg } from "../../src/fence/FencedLeg.ts"
import { fencedSpeechToText } from "../../src/fence/FencedSpeechToText.ts"
import { fencedTelephony } from "../../src/fence/FencedTelephony.ts"
import { fencedTextToSpeech } from "../../src/fence/FencedTextToSpeech.ts"
import { fencedVoiceActivity } from "../../src/fence/FencedVoiceActivity.ts"
import { invalid } from "../fixtures/Invalid.ts"
import { languageModel, speechToText, telephony, textToSpeech } from "../fixtures/Parts.ts"

const circular: Record<string, unknown> = {}
circular["self"] = circular
const unreadable = Object.defineProperty({}, "_tag", {
  get: () => {
    throw new Error("boom")
  }
})

describe("a language model that", () => {
  const request = { callId: "call_1", messages: [], tools: [], variables: {} }
  const deltas: ReadonlyArray<readonly [unknown, string]> = [
    [undefined, "a delta must be an object, not undefined"],
    ["text", "a delta must be an object, not a string"],
    [{}, "a delta must be Text, ToolCall, Usage or Done"],
    [unreadable, "it cannot be read: boom"],
    [{ _tag: "Text" }, "the text of a delta must be a string, not undefined"],
    [{ _tag: "Text", text: Symbol("x") }, "not a symbol"],
    [{ _tag: "ToolCall" }, "a tool call must be an object"],
    [{ _tag: "ToolCall", call: { id: "1", name: 2, arguments: {} } }, "a tool call.name must be a string"],
    [{ _tag: "ToolCall", call: { id: "1", name: "a", arguments: "{}" } }, "a tool call.arguments must be an object"],
    [{ _tag: "ToolCall", call: { id: "1", name: "a", arguments: circular } }, "cannot be written as JSON"],
    [{ _tag: "ToolCall", call: { id: "1", name: "a", arguments: { n: 1n } } }, "cannot be written as JSON"],
    [{ _tag: "Usage", inputTokens: Number.NaN, outputTokens: 1 }, "the inputTokens of a delta must be a whole number"],
    [{ _tag: "Usage", inputTokens: -1, outputTokens: 1 }, "the inputTokens of a delta must be a whole number from 0"],
    [{ _tag: "Usage", inputTokens: 1, outputTokens: 0.5 }, "the outputTokens of a delta must be a whole number from 0"],
    [{ _tag: "Usage", inputTokens: 1 }, "the outputTokens of a delta must be a whole number from 0"],
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, "1", null].map(
      (cachedInputTokens): readonly [unknown, string] => [
        { _tag: "Usage", inputTokens: 3, outputTokens: 1, cachedInputTokens },
        "the cachedInputTokens of a delta must be a whole number from 0"
      ]
    ),
    [
      { _tag: "Usage", inputTokens: 3, outputTokens: 1, cachedInputTokens: 4 },
      "the cachedInputTokens of a delta must be at most its inputTokens"
    ],
    [{ _tag: "Done", reason: "tired" }, "the reason of Done must be one of stop"]
  ]
  it.effect("emits an invalid delta fails, and the delta is not passed on", () =>
    Effect.gen(function* () {
      for (const [delta, reason] of deltas) {
        for (const after of [Effect.void, Effect.never]) {
          const model = yield* fencedLanguageModel({
            ...languageModel,
            generate: (_, emit) =>
              Effect.suspend(() => {
                emit(invalid<ModelDelta>(delta))
                emit({ _tag: "Text", text: "more" })
                return after
              })
          })
          const passed: Array<ModelDelta> = []
          const error = yield* Effect.flip(model.generate(request, (one) => passed.push(one)))
          expect(error).toBeInstanceOf(LanguageModelError)
          expect(error.reason).toMatch(/^silent: generated something invalid: /)
          expect(error.reason).toContain(reason)
          expect(passed).toEqual([])
        }
      }
    })
  )

  it.effect("fails with something else than its typed error fails with that error", () =>
    Effect.gen(function* () {
      for (const failure of [undefined, null, "boom", { reason: 5 }, new Error("boom")]) {
        const generate = () => Effect.fail(invalid<LanguageModelError>(failure))
        const model = yield* fencedLanguageModel({ ...languageModel, generate })
        const error = yield* Effect.flip(model.generate(request, () => {}))
        expect(error).toBeInstanceOf(LanguageModelError)
        expect(error.reason).toMatch(/^silent: crashed: /)
      }
    })
  )

  it.effect("reports its health in the wrong shape is unhealthy", () =>
    Effect.gen(function* () {
      for (const health of [undefined, {}, { healthy: "yes" }, { healthy: false }]) {
        const model = yield* fencedLanguageModel({
          ...languageModel,
          health: Effect.succeed(invalid<Health>(health))
        })
        expect(yield* model.health).toMatchObject({
          healthy: false,
          reason: expect.stringMatching(/^its health check is wrong: /)
        })
      }
    })
  )
})

describe("a speech-to-text provider that", () => {
  const options = { callId: "c", language: "en", sampleRate: 8000, format: "smart", keyterms: [] } as const
  it.effect("emits an invalid event fails the session", () =>
    Effect.gen(function* () {
      const events: ReadonlyArray<unknown> = [
        undefined,
        {},
        unreadable,
        { _tag: "Partial", text: 5 },
        { _tag: "Final", text: null, confidence: 1 },
        { _tag: "Final", text: "a" },
        { _tag: "Final", text: "a", confidence: 1, language: 5 },
        { _tag: "Final", text: "a", confidence: 1, words: "a" },
        { _tag: "Final", text: "a", confidence: 1, words: [{ text: "a", start: 0 }] },
        { _tag: "Final", text: "a", confidence: 1, end: "a" },
        { _tag: "EagerEndOfTurn" },
        { _tag: "Failed" },
        { _tag: "Failed", error: new Error("x") }
      ]
      for (const event of events) {
        const seen: Array<SpeechEvent> = []
        const provider = yield* fencedSpeechToText({
          ...speechToText,
          open: ({ onEvent }) =>
            Effect.sync(() => {
              onEvent(invalid<SpeechEvent>(event))
              onEvent({ _tag: "Partial", text: "more" })
              return { push: () => {}, finish: Effect.void }
            })
        })
        yield* provider.open({ ...options, onEvent: (one) => seen.push(one) })
        expect(seen).toMatchObject([
          { _tag: "Failed", error: { reason: expect.stringMatching(/^silent: emitted something invalid: /) } }
        ])
      }
    }).pipe(Effect.scoped)
  )

  it.effect("opens something that is no session fails to open", () =>
    Effect.gen(function* () {
      for (const session of [
        undefined,
        {},
        { push: () => {} },
        { finish: Effect.void },
        { push: () => {}, finish: Effect.void, flush: true }
      ]) {
        const provider = yield* fencedSpeechToText({
          ...speechToText,
          open: () => Effect.succeed(invalid<SpeechToTextSession>(session))
        })
        const error = yield* Effect.flip(provider.open({ ...options, onEvent: () => {} }))
        expect(error.reason).toMatch(/^silent: opened something invalid: a session/)
      }
    }).pipe(Effect.scoped)
  )
})

describe("a text-to-speech provider that", () => {
  const speech = {
    callId: "c",
    turn: "t",
    text: "a",
    voice: "Sarah",
    language: "en",
    sampleRate: 8000,
    speed: 1
  }
  const ignored = { write: () => true, align: () => undefined, drained: Effect.void }

  it.effect("opens something else than a turn fails", () =>
    Effect.gen(function* () {
      for (const turn of [
        undefined,
        {},
        { say: () => {}, end: () => {} },
        { say: 1, end: () => {}, done: Effect.void }
      ]) {
        const provider = yield* fencedTextToSpeech({
          ...textToSpeech,
          open: () => Effect.succeed(invalid<SpeechTurn>(turn))
        })
        const { reason } = yield* Effect.flip(speakText(provider, { ...speech, sink: ignored }))
        expect(reason).toMatch(/^silent: opened something invalid: a turn/)
      }
    })
  )

  it.effect("throws when it gets text, or its end, fails", () =>
    Effect.gen(function* () {
      const boom = () => {
        throw new Error("no such text")
      }
      for (const turn of [
        { say: boom, end: () => {}, done: Effect.never },
        { say: () => {}, end: boom, done: Effect.never }
      ]) {
        const provider = yield* fencedTextToSpeech({ ...textToSpeech, open: () => Effect.succeed(turn) })
        const { reason } = yield* Effect.flip(speakText(provider, { ...speech, sink: ignored }))
        expect(reason).toMatch(/^silent: crashed: .*no such text/)
      }
    })
  )

  it.effect("writes something else than samples, or aligns at no character, fails", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<
        (sink: { write: (a: Int16Array) => boolean; align: (n: number, at: number) => void }) => void
      > = [
        (sink) => sink.write(invalid<Int16Array>(undefined)),
        (sink) => sink.write(invalid<Int16Array>("audio")),
        (sink) => sink.write(invalid<Int16Array>(Buffer.alloc(320))),
        (sink) => sink.write(invalid<Int16Array>([1, 2])),
        (sink) => sink.align(Number.NaN, 0),
        (sink) => sink.align(-1, 0),
        (sink) => sink.align(1, 0.5),
        (sink) => sink.align(1, invalid<number>(undefined))
      ]
      for (const use of wrong) {
        let written = 0
        const provider = yield* fencedTextToSpeech({
          ...textToSpeech,
          open: ({ sink }) => Effect.succeed({ say: () => use(sink), end: () => {}, done: Effect.never })
        })
        const sink = { write: () => ++written > 0, align: () => void written++, drained: Effect.void }
        const error = yield* Effect.flip(speakText(provider, { ...speech, sink }))
        expect(error.reason).toMatch(/^silent: (wrote|reported) something invalid: /)
        expect(written).toBe(0)
      }
    })
  )
})

describe("a voice activity detector that", () => {
  it("returns neither speech nor silence, or no length of time, reports silence for 0 ms", () => {
    const detector = fencedVoiceActivity({
      open: () => ({ push: () => invalid<"speech">(true), lasted: () => Number.NaN })
    }).open(8000)
    expect([detector.push(new Int16Array(160)), detector.lasted?.("speech")]).toEqual(["silence", 0])
  })
})

describe("a telephone network that", () => {
  const leg: CallLeg = {
    format: mulaw8k,
    listen: () => {},
    send: () => {},
    mark: () => {},
    clear: () => {},
    hangup: () => {}
  }
  const call: IncomingCall = {
    id: "1",
    from: null,
    to: "+31201234567",
    headers: {},
    ringing: () => {},
    answer: () => Effect.succeed(leg),
    reject: () => {},
    canceled: Effect.never
  }
  const legs: ReadonlyArray<unknown> = [
    undefined,
    {},
    { ...leg, send: undefined },
    { ...leg, format: undefined },
    { ...leg, format: { encoding: "opus", sampleRate: 48000 } },
    { ...leg, transferBlind: "yes" },
    { ...leg, marks: "sometimes" },
    { ...leg, keyEvents: "no" },
    { ...leg, playoutDelayMs: -1 },
    { ...leg, playoutDelayMs: 60_000 },
    { ...leg, playoutDelayMs: Number.NaN },
    { ...leg, aheadMs: -20 },
    { ...leg, aheadMs: 220 },
    { ...leg, aheadMs: "100" },
    { ...leg, carrierCallId: 7 }
  ]

  it.effect("emits an invalid event ends that call, and the event is not passed on", () =>
    Effect.sync(() => {
      const events: ReadonlyArray<unknown> = [
        undefined,
        {},
        unreadable,
        { _tag: "Audio" },
        { _tag: "Audio", payload: "AAAA" },
        { _tag: "Audio", payload: [1, 2] },
        { _tag: "Audio", payload: new Uint8Array(160), sequence: 65_536 },
        { _tag: "Audio", payload: new Uint8Array(160), sequence: 1, timestamp: -1 },
        { _tag: "Media" },
        { _tag: "Answerer", verdict: "robot" },
        { _tag: "Dtmf", digit: 5, source: "rfc4733" },
        { _tag: "Dtmf", digit: "12", source: "rfc4733" },
        { _tag: "Dtmf", digit: "1", source: "ether" },
        { _tag: "TransferProgress", state: "lost" },
        { _tag: "TransferProgress", state: "failed", refused: "yes" },
        { _tag: "Ended", cause: "bored" },
        { _tag: "Ended", cause: "hangup", reason: 5 },
        { _tag: "Ended", cause: "hangup", code: 486 }
      ]
      for (const event of events) {
        let hungUp = 0
        const seen: Array<CallEvent> = []
        const fenced = fencedLeg("net")({
          ...leg,
          hangup: () => void hungUp++,
          listen: (listener) => listener(invalid<CallEvent>(event))
        })
        fenced.listen((one) => seen.push(one))
        expect(seen).toMatchObject([
          {
            _tag: "Ended",
            cause: "failed",
            reason: expect.stringMatching(/^net crashed: it emitted something invalid/)
          }
        ])
        expect(hungUp).toBe(1)
      }
    })
  )

  it("has no quality, or one that throws or is invalid, gives the last one", () => {
    const good = { packetsLost: 1, packetsLate: 2, jitterMs: null, codec: "PCMA" }
    const answers: Array<() => unknown> = [
      () => ({ packetsLost: 1 }),
      () => good,
      () => {
        throw new Error("no figures")
      },
      () => ({ ...good, jitterMs: "much" }),
      () => ({ ...good, codec: "GSM" })
    ]
    const fenced = fencedLeg("net")({ ...leg, quality: () => invalid<LineQuality>(answers.shift()?.()) })
    const none = { packetsLost: 0, packetsLate: 0, jitterMs: null }
    expect([1, 2, 3, 4, 5].map(() => fenced.quality?.())).toEqual([none, good, good, good, good])
    expect(fencedLeg("net")(leg).quality).toBeUndefined()
  })

  it("declares playback marks declares them for legs that name none, and a leg passes its playoutDelayMs and aheadMs on", () => {
    expect(fencedLeg("net", "echoed")(leg).marks).toBe("echoed")
    expect(fencedLeg("net", "echoed")({ ...leg, marks: "none", playoutDelayMs: 120, aheadMs: 100 })).toMatchObject({
      marks: "none",
      playoutDelayMs: 120,
      aheadMs: 100
    })
  })

  it.effect("bridges legs gets its own ones, and a bridge that crashes or hangs fails", () =>
    Effect.gen(function* () {
      const own = [{ ...leg }, { ...leg }] as const
      const joined: Array<CallLeg> = []
      const bridges = [
        (one: CallLeg, other: CallLeg) => Effect.sync(() => void joined.push(one, other)),
        () => Effect.die(new Error("boom")),
        () => Effect.never
      ]
      const fenced = yield* Effect.forEach(bridges, (bridge) => fencedTelephony({ ...telephony("net"), bridge }))
      const [one, other] = [fencedLeg("net")(own[0]), fencedLeg("net")(own[1])]
      const fibers = yield* Effect.forEach(fenced, (network) =>
        Effect.fork(Effect.either(network.bridge?.(one, other) ?? Effect.dieMessage("no bridge")))
      )
      yield* TestClock.adjust("10 seconds")
      const outcomes = yield* Effect.forEach(fibers, Fiber.join)
      expect(outcomes.map((outcome) => (outcome._tag === "Left" ? outcome.left.reason : "joined"))).toEqual([
        "joined",
        "net: crashed: boom",
        "net: did not join two calls within 10s"
      ])
      expect(joined[0]).toBe(own[0])
      expect(joined[1]).toBe(own[1])
    })
  )

  it.effect("answers or dials with something that is no leg fails with the typed error, and hangs up", () =>
    Effect.gen(function* () {
      for (const wrong of legs) {
        const network = yield* fencedTelephony({
          ...telephony("net"),
          incoming: Stream.make({ ...call, answer: () => Effect.succeed(invalid<CallLeg>(wrong)) }),
          outbound: { dial: () => Effect.succeed(invalid<CallLeg>(wrong)) }
        })
        const incoming = Chunk.unsafeHead(yield* Stream.runCollect(network.incoming))
        const gone = yield* Effect.flip(incoming.answer({ callId: "c", formats: [mulaw8k] }))
        expect(gone.reason).toMatch(/^net: connected something invalid: /)
        const outbound = yield* Effect.fromNullable(network.outbound)
        const failed = yield* Effect.flip(outbound.dial({ callId: "c", to: "+1", from: "+2", formats: [mulaw8k] }))
        expect([failed.outcome, failed.reason]).toEqual([
          "failed",
          expect.stringMatching(/^net: connected something invalid: /)
        ])
      }
    })
  )

  it.effect("fails a dial with an unknown outcome fails it as failed", () =>
    Effect.gen(function* () {
      const error = new DialFailed({ outcome: invalid<"busy">("eaten"), reason: "by a dog" })
      const network = yield* fencedTelephony({ ...telephony("net"), outbound: { dial: () => Effect.fail(error) } })
      const outbound = yield* Effect.fromNullable(network.outbound)
      const failed = yield* Effect.flip(outbound.dial({ callId: "c", to: "+1", from: "+2", formats: [mulaw8k] }))
      expect([failed.outcome, failed.reason]).toEqual(["failed", expect.stringContaining("by a dog")])
    })
  )

  it.effect("emits an invalid call or text message keeps its other ones", () =>
    Effect.gen(function* () {
      let rejected = 0
      const calls: ReadonlyArray<unknown> = [
        undefined,
        {},
        { ...call, to: 5, reject: () => void rejected++ },
        { ...call, headers: { a: 5 } },
        { ...call, answer: "yes" },
        call
      ]
      const sms = { id: "1", from: "+1", to: "+2", message: "Hi" }
      const messages: ReadonlyArray<unknown> = [undefined, { ...sms, message: 5 }, sms]
      const network = yield* fencedTelephony({
        ...telephony("net"),
        incoming: Stream.map(Stream.fromIterable(calls), (one) => invalid<IncomingCall>(one)),
        sms: {
          send: () => Effect.succeed(invalid<{ provider_message_id: null }>(undefined)),
          incoming: Stream.map(Stream.fromIterable(messages), (one) => invalid<IncomingSms>(one))
        }
      })
      expect(Chunk.size(yield* Stream.runCollect(network.incoming))).toBe(1)
      expect(rejected).toBe(1)
      const { incoming, send } = yield* Effect.fromNullable(network.sms)
      expect(Chunk.toReadonlyArray(yield* Stream.runCollect(incoming))).toEqual([sms])
      const sent = yield* send({ id: "1", to: "+1", from: "+2", sender_type: "number", message: "Hi" })
      expect(sent).toEqual({ provider_message_id: null })
    })
  )
})
