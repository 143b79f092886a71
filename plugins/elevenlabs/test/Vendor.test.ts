import { describe, expect, it } from "@effect/vitest"
import { pluginConfig } from "@svc/plugin-host/loader/PluginConfig"
import type { EmulatedPeer, Refusal } from "@svc/providers/testing/EmulatedServer"
import type { SpeechSetup } from "@svc/providers/testing/SpeechSetup"
import { spelledIn } from "@svc/providers/testing/SpelledSound"
import { ConfigProvider, Effect, Fiber, TestClock, TestServices } from "effect"
import plugin from "../src/ElevenLabs.ts"
import { apiKey, listed, refuse, sarahId, speaks, vendorServer, voices } from "../src/testing/EmulatedElevenLabs.ts"
import { setUp, setUpAt } from "./Provided.ts"

const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

const problemOf = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.flip(
      Effect.withConfigProvider(pluginConfig(plugin, {}), ConfigProvider.fromMap(new Map(Object.entries(variables))))
    ),
    ({ reason }) => reason
  )

/** Fails unless the key is nowhere where somebody could read it. */
const hidesKey = ({ double }: SpeechSetup, error: unknown) => {
  expect(JSON.stringify([double.logged, error, String(error), Object(error).stack])).not.toContain(apiKey)
}

describe("the settings", () => {
  it.effect("need a key, and are named when they are wrong", () =>
    Effect.gen(function* () {
      expect(yield* problemOf({})).toBe("SVC_ELEVENLABS_API_KEY is not set")
      for (const url of ["api.elevenlabs.io", "https://api.elevenlabs.io/v1", "ws://127.0.0.1"]) {
        expect(yield* problemOf({ SVC_ELEVENLABS_API_KEY: "k", SVC_ELEVENLABS_URL: url })).toBe(
          "SVC_ELEVENLABS_URL must be an http or https address without a path, as https://api.eu.residency.elevenlabs.io"
        )
      }
    })
  )

  it.live("choose the model, which says what languages voices have and whether it takes one", () =>
    Effect.gen(function* () {
      const server = yield* vendorServer(speaks())
      const languages = ["en-US", "nb-NO"]
      for (const [model, speaksNorwegian, code] of [
        ["eleven_flash_v2", false, undefined],
        ["eleven_multilingual_v2", false, undefined],
        ["eleven_turbo_v2_5", true, "no"]
      ] as const) {
        const { speak, speech } = yield* setUpAt(server, { model })
        const spoken = speech.voices[0]?.languages ?? []
        expect(languages.map((language) => spoken === "*" || spoken.includes(language))).toEqual([
          true,
          speaksNorwegian
        ])
        yield* speak("One.")
        const english = server.peers.at(-1)?.request.query
        expect(english?.get("model_id")).toBe(model)
        expect(english?.get("language_code")).toBe(code === undefined ? null : "en")
        const norwegian = Effect.either(speak("En.", { language: "nb-NO" }))
        expect((yield* norwegian)._tag).toBe(speaksNorwegian ? "Right" : "Left")
      }
    }).pipe(Effect.scoped)
  )
})

describe("the voices", () => {
  it.live("have the short names of the vendor's, each once, and are read page by page", () =>
    Effect.gen(function* () {
      const all = [
        ...voices,
        listed("id-1", "Clara", { labels: { gender: "male" } }),
        listed("id-2", "clara - Another", { labels: {}, settings: null }),
        listed("id-3", "", { labels: null }),
        listed("id-4", "Sarah")
      ]
      const { server, speech } = yield* setUp(speaks(), { listed: () => all })
      expect(speech.voices).toEqual([
        { name: "Sarah", languages: "*", gender: "female" },
        { name: "Roger", languages: "*", gender: "male" },
        { name: "Clara", languages: "*", gender: "female" },
        { name: "Clara id-1", languages: "*", gender: "male" },
        { name: "clara - Another", languages: "*", gender: "neutral" },
        { name: "id-3", languages: "*", gender: "neutral" },
        { name: "Sarah id-4", languages: "*", gender: "female" }
      ])
      expect(server.requests.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => "/v2/voices"))
    }).pipe(Effect.scoped)
  )

  it.live("are found by name, ignoring case, and by id; another one is refused without a request", () =>
    Effect.gen(function* () {
      const { server, speak } = yield* setUp(speaks())
      for (const voice of ["SARAH", sarahId]) {
        expect(spelledIn((yield* speak("One.", { voice })).samples(), 8000)).toBe("One. ")
      }
      const error = yield* Effect.flip(speak("One.", { voice: "Nobody" }))
      expect(error).toMatchObject({ reason: 'there is no voice "Nobody"', retryable: false })
      expect(server.peers).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect("are read again every five minutes, with their settings", () =>
    Effect.gen(function* () {
      let all: ReadonlyArray<unknown> = [listed(sarahId, "Sarah")]
      const server = yield* TestServices.provideLive(vendorServer(speaks(), { listed: () => all }))
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 1))
      const { speech } = yield* Fiber.join(starting)
      const request = { callId: "1", voice: "Sarah", language: "en-US", speed: 1 }
      const key = speech.cacheKey?.(request)
      expect(speech.voices.map(({ name }) => name)).toEqual(["Sarah"])
      all = [listed(sarahId, "Sarah", { settings: { stability: 0.9 } }), listed("new", "Nova")]
      yield* TestClock.adjust("5 minutes")
      yield* real(until(() => speech.voices.length === 2))
      expect(speech.voices.map(({ name }) => name)).toEqual(["Sarah", "Nova"])
      expect(key).toBeTypeOf("string")
      expect(speech.cacheKey?.(request)).not.toBe(key)
      expect(speech.cacheKey?.({ ...request, voice: "Nobody" })).toBeUndefined()
    }).pipe(Effect.scoped)
  )

  it.live("keep their own settings, and get all of them with another speed within the vendor's range", () =>
    Effect.gen(function* () {
      const own = { stability: 0.4, similarity_boost: 0.8, style: 0, use_speaker_boost: true }
      const { server, speak } = yield* setUp(speaks(), {
        listed: () => [listed(sarahId, "Sarah", { settings: { ...own, speed: 1.1 } })]
      })
      for (const speed of [1, 0.9, 2, 0.5]) yield* speak("One.", { speed })
      const sent = (server.peers[0]?.received ?? []).map((message) => JSON.parse(String(message)))
      expect(sent.filter(({ text }) => text === " ").map(({ voice_settings }) => voice_settings)).toEqual([
        undefined,
        { ...own, speed: expect.closeTo(0.99) },
        { ...own, speed: 1.2 },
        { ...own, speed: 0.7 }
      ])
    }).pipe(Effect.scoped)
  )
})

describe("the vendor", () => {
  it.live(
    "with a refused key does not stop the start: it is unhealthy, the log names the setting, and nothing the key",
    () =>
      Effect.gen(function* () {
        const server = yield* vendorServer(speaks())
        const wrong = "sk_wrong_0123456789"
        const setup = yield* setUpAt(server, { apiKey: wrong })
        const reason = `SVC_ELEVENLABS_API_KEY was refused: ${server.origin} answered 401`
        expect(yield* setup.speech.health).toEqual({ healthy: false, reason })
        expect(setup.double.logged.map(({ level, message }) => [level, message])).toEqual([
          ["error", `${reason}. Set a valid key and restart the server`]
        ])
        const error = yield* Effect.flip(setup.speak("One."))
        expect(error).toMatchObject({ reason, retryable: true })
        expect(JSON.stringify([setup.double.logged, error, String(error), Object(error).stack])).not.toContain(wrong)
        expect(setup.speech.voices.map(({ name }) => name)).toEqual(["Sarah"])
      }).pipe(Effect.scoped)
  )

  it.live("that answers no list of voices does not stop the start, and is unhealthy", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [(response: { end: (text: string) => unknown }) => void, RegExp]> = [
        [(response) => void response.end("<html>"), /answered with no JSON$/],
        [(response) => void response.end('{"voices":[{}]}'), /answered with no list of voices$/]
      ]
      for (const [answer, reason] of cases) {
        const { speech } = yield* setUp(speaks(), { request: (_, response) => answer(response) })
        expect(yield* speech.health).toEqual({ healthy: false, reason: expect.stringMatching(reason) })
        expect(speech.voices.map(({ name }) => name)).toEqual(["Sarah"])
      }
    }).pipe(Effect.scoped)
  )

  it.live("that refuses a connection fails the turn, as retryable when another attempt may work", () =>
    Effect.gen(function* () {
      const body = (status: string, message: string) =>
        JSON.stringify({ detail: { status, message: `${message} ${apiKey}` } })
      const cases: ReadonlyArray<readonly [Refusal, string, boolean]> = [
        [{ status: 500, body: "no" }, "answered 500: no", true],
        [{ status: 429, body: body("system_busy", "busy") }, "answered 429: busy …", true],
        [{ status: 404, body: body("voice_not_found", "no voice") }, "answered 404: no voice …", false],
        [{ status: 403, body: body("only_for_creator+", "upgrade") }, "SVC_ELEVENLABS_API_KEY was refused", true]
      ]
      for (const [refusal, reason, retryable] of cases) {
        const setup = yield* setUp(speaks(), { upgrade: () => refusal })
        const error = yield* Effect.flip(setup.speak("One."))
        expect(error.reason).toContain(reason)
        expect(error.retryable, reason).toBe(retryable)
        hidesKey(setup, error)
      }
    }).pipe(Effect.scoped)
  )

  it.live("that asks to wait is asked again when that is soon", () =>
    Effect.gen(function* () {
      let asked = 0
      const { double, server, speak } = yield* setUp(speaks(), {
        upgrade: () => (asked++ === 0 ? { status: 429, headers: { "retry-after": "0.02" } } : "accept")
      })
      expect(spelledIn((yield* speak("One.")).samples(), 8000)).toBe("One. ")
      expect(server.peers).toHaveLength(1)
      expect(double.counted("rate_limit_waits")).toBe(1)
      const late = yield* setUp(speaks(), { upgrade: () => ({ status: 429, headers: { "retry-after": "60" } }) })
      expect((yield* Effect.flip(late.speak("One."))).retryable).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("that answers with an error fails the turn with its explanation", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [(peer: EmulatedPeer, id: string) => void, string, boolean]> = [
        [(peer) => refuse(peer, "quota_exceeded", `You have 0 credits ${apiKey}`), "quota_exceeded: You have 0", true],
        [(peer) => refuse(peer, "voice_not_found", "No such voice."), "voice_not_found: No such voice.", false],
        [(peer) => refuse(peer, "invalid_api_key", "Invalid API key"), "SVC_ELEVENLABS_API_KEY was refused", true],
        [
          (peer, contextId) => peer.send({ contextId, error: "max_character_limit_exceeded", message: "Too long." }),
          "max_character_limit_exceeded: Too long.",
          false
        ],
        // What belongs to an unknown context does not concern the turn.
        [
          (peer, contextId) => {
            peer.send({ contextId: "other", audio: "QUJD", isFinal: true })
            peer.send({ audio: "QUJD" })
            peer.send({ contextId, error: "generation_failed", message: "" })
          },
          "answered generation_failed",
          true
        ]
      ]
      for (const [answer, reason, retryable] of cases) {
        const setup = yield* setUp((peer) =>
          Effect.gen(function* () {
            const first = yield* peer.next
            yield* peer.next
            answer(peer, JSON.parse(String(first)).context_id)
            return yield* Effect.never
          })
        )
        const error = yield* Effect.flip(setup.speak("One."))
        expect(error.reason).toContain(reason)
        expect(error.retryable, reason).toBe(retryable)
        hidesKey(setup, error)
      }
    }).pipe(Effect.scoped)
  )
})
