import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { inputsOf, listen, messagesOf, sentOn, setUp, until } from "./Realtime.ts"

describe("streaming speech-to-text", () => {
  it.live("asks for a transcription session with the model, language and keyterms, and without turn detection", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      yield* listen(at, { language: "nb-NO", keyterms: ["Svc", "<Zoë>\n", " "] })
      const { headers, path, query } = at.server.peers[0]?.request ?? { headers: {}, path: "", query: undefined }
      expect([path, query?.toString()]).toEqual(["/v1/realtime", "intent=transcription"])
      expect(headers.authorization).toMatch(/^Bearer sk-/)
      expect(messagesOf(at)[0]).toMatchObject({ type: "session.update", session: { type: "transcription" } })
      expect(inputsOf(at)).toEqual([
        {
          format: { type: "audio/pcmu" },
          transcription: { model: "gpt-live-transcribe", languages: ["no"], keywords: ["Svc", "Zoë"] },
          turn_detection: null
        }
      ])
      yield* listen(at, { sampleRate: 24_000 })
      expect(inputsOf(at)).toMatchObject([{ format: { type: "audio/pcm", rate: 24_000 } }])
      const error = yield* Effect.flip(listen(at, { sampleRate: 16_000 }))
      expect(error).toMatchObject({ reason: "16000 Hz is not supported", retryable: false })
    }).pipe(Effect.scoped)
  )

  it.live("passes keyterms as the prompt to older models, and none to a model that takes none", () =>
    Effect.gen(function* () {
      const hints = { language: "de-DE", keyterms: ["Svc", "Zoë"] }
      const older = yield* setUp({}, { sttModel: "gpt-4o-transcribe" })
      yield* listen(older, hints)
      expect(inputsOf(older)).toMatchObject([
        { transcription: { model: "gpt-4o-transcribe", language: "de", prompt: "Svc, Zoë" } }
      ])
      const whisper = yield* setUp({}, { sttModel: "gpt-realtime-whisper" })
      yield* listen(whisper, hints)
      const [input] = inputsOf(whisper)
      expect(Object(input).transcription).toEqual({ model: "gpt-realtime-whisper", language: "de" })
      expect(whisper.speechToText.capabilities.keyterms).toBe(false)
    }).pipe(Effect.scoped)
  )

  it.live("emits words while the caller speaks, and the final transcript with the end of its audio", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.pause(1000)
      heard.session.voiceActivity?.(true)
      heard.push("hello to you")
      yield* until(() => heard.partials().length === 2)
      expect(heard.events).toEqual([
        { _tag: "Partial", text: "hello" },
        { _tag: "Partial", text: "hello to" }
      ])
      heard.session.voiceActivity?.(false)
      yield* until(() => heard.finals().length === 1)
      expect(heard.events.slice(2)).toEqual([
        { _tag: "Partial", text: "hello to you" },
        { _tag: "Final", text: "hello to you", confidence: 1, end: 1000 + 12 * 40 }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("sends speech with the 500 ms before it, no silence, and counts the seconds", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.pause(5000)
      heard.say("one")
      heard.pause(5000)
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one"])
      const bytes = sentOn(at).reduce((sum, { audio = "" }) => sum + Buffer.from(audio, "base64").length, 0)
      expect(bytes).toBe((500 + 3 * 40) * 8)
      expect(at.double.counted("audio_seconds")).toBeCloseTo(0.62)
    }).pipe(Effect.scoped)
  )

  it.live("keeps the order of what was said when a later transcript is complete first", () =>
    Effect.gen(function* () {
      let isFirstAwaited = true
      const at = yield* setUp({
        streams: false,
        transcriptMs: (nth) => (nth === 1 ? 40 : 0)
      })
      const heard = yield* listen(at, {
        onEvent: (event) => {
          events.push(event)
          if (event._tag === "Final") isFirstAwaited = false
          else if (event._tag === "Partial" && isFirstAwaited) waiting.push(event.text)
        }
      })
      const waiting: Array<string> = []
      const events: Array<unknown> = []
      heard.say("one")
      heard.pause(400)
      heard.say("two")
      yield* heard.session.finish
      expect(waiting.filter((text) => text !== "")).toContain("two")
      expect(events.filter((event) => Object(event)._tag === "Final")).toMatchObject([{ text: "one" }, { text: "two" }])
    }).pipe(Effect.scoped)
  )

  it.live("emits nothing final for an empty transcript, and withdraws the words that were expected", () =>
    Effect.gen(function* () {
      const at = yield* setUp({ transcript: (nth, text) => (nth === 1 ? " " : text) })
      const heard = yield* listen(at)
      heard.say("um er")
      yield* until(() => heard.partials().includes(""))
      heard.say("two")
      yield* heard.session.finish
      expect(heard.partials().slice(0, 2)).toEqual(["um", ""])
      expect(heard.finals()).toEqual(["two"])
    }).pipe(Effect.scoped)
  )

  it.live("flush makes words final while the caller speaks on", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.session.voiceActivity?.(true)
      heard.push("one two")
      heard.session.flush?.()
      yield* until(() => heard.finals().length === 1)
      heard.push(" three")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one two", "three"])
    }).pipe(Effect.scoped)
  )

  it.live("fills up a stretch that is shorter than the server takes", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.say("a")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["a"])
      expect(heard.events.at(-1)).toMatchObject({ end: 40 })
    }).pipe(Effect.scoped)
  )

  it.live("changes language and keyterms in the session", () =>
    Effect.gen(function* () {
      const at = yield* setUp()
      const heard = yield* listen(at)
      heard.say("one")
      expect(heard.session.update?.({ language: "de-DE" })).toBe(true)
      expect(heard.session.update?.({ keyterms: ["Svc"], endpointingMs: 300 })).toBe(true)
      heard.say("two")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one", "two"])
      expect(inputsOf(at).map((input) => Object(input).transcription)).toEqual([
        { model: "gpt-live-transcribe", languages: ["en"] },
        { model: "gpt-live-transcribe", languages: ["de"] },
        { model: "gpt-live-transcribe", languages: ["de"], keywords: ["Svc"] }
      ])
      expect(heard.session.update?.({ language: "fr-FR" })).toBe(false)
    }).pipe(Effect.scoped)
  )

  it.live("leaves out what the server refuses, and remembers it: mu-law, keyterms, language", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        refuses: ({ format, transcription }) =>
          format.type === "audio/pcmu"
            ? { message: "Invalid value: 'audio/pcmu'", param: "session.audio.input.format.type" }
            : "keywords" in transcription
              ? { message: "Unknown parameter", param: "session.audio.input.transcription.keywords" }
              : "languages" in transcription
                ? { message: "'languages' is not supported" }
                : undefined
      })
      for (const count of [4, 1]) {
        const heard = yield* listen(at, { keyterms: ["Svc"] })
        expect(inputsOf(at)).toHaveLength(count)
        expect(inputsOf(at).at(-1)).toEqual({
          format: { type: "audio/pcm", rate: 24_000 },
          transcription: { model: "gpt-live-transcribe" },
          turn_detection: null
        })
        heard.say("one two")
        yield* heard.session.finish
        expect(heard.finals()).toEqual(["one two"])
      }
    }).pipe(Effect.scoped)
  )

  it.live("leaves out keyterms that the server does not take only in that session, and logs it", () =>
    Effect.gen(function* () {
      const message = "Expected an array with maximum length 2"
      const at = yield* setUp({
        refuses: ({ transcription: { keywords } }) =>
          Array.isArray(keywords) && keywords.length > 2
            ? { message, code: "array_above_max_length", param: "session.audio.input.transcription.keywords" }
            : undefined
      })
      yield* listen(at, { keyterms: ["a", "b", "c"] })
      expect(inputsOf(at).map((input) => "keywords" in Object(input).transcription)).toEqual([true, false])
      expect(at.double.logged).toMatchObject([
        { level: "warning", message: expect.stringMatching(/^left out, because it was refused: .* length 2$/) }
      ])
      yield* listen(at, { keyterms: ["a", "b"] })
      expect(inputsOf(at)).toMatchObject([{ transcription: { keywords: ["a", "b"] } }])
    }).pipe(Effect.scoped)
  )

  it.live("goes on without a change that the server refuses, and logs it", () =>
    Effect.gen(function* () {
      const at = yield* setUp({
        refuses: ({ transcription }) =>
          JSON.stringify(transcription).includes('"pl"') ? { message: "not now", param: "session" } : undefined
      })
      const heard = yield* listen(at)
      heard.session.update?.({ language: "pl-PL" })
      heard.say("one")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one"])
      expect(at.double.logged).toEqual([
        {
          level: "warning",
          message: `a change was refused: ${at.server.origin}/v1/realtime answered with an error: not now`,
          fields: { call_id: "call_1" }
        }
      ])
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
      expect(at.double.counted("connections_lost")).toBe(0)
      const hanging = yield* setUp({ fault: () => Effect.never })
      const opening = yield* Effect.fork(Effect.scoped(listen(hanging)))
      yield* until(() => hanging.server.openPeers() === 1)
      yield* opening.interruptAsFork(opening.id())
      yield* until(() => hanging.server.openPeers() === 0)
    }).pipe(Effect.scoped)
  )
})
