import { describe, expect, it } from "@effect/vitest"
import { pluginConfig } from "@svc/plugin-host/loader/PluginConfig"
import type { Refusal } from "@svc/providers/testing/EmulatedServer"
import { spelledIn } from "@svc/providers/testing/SpelledSound"
import { ConfigProvider, Effect, Fiber, TestClock, TestServices } from "effect"
import plugin from "../src/Cartesia.ts"
import { apiKey, errorMessage, katieId, listed, speaks, vendorServer, voices } from "../src/testing/EmulatedCartesia.ts"
import { setUp, setUpAt } from "./Provided.ts"

const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

const problemOf = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.flip(
      Effect.withConfigProvider(pluginConfig(plugin, {}), ConfigProvider.fromMap(new Map(Object.entries(variables))))
    ),
    ({ reason }) => reason
  )

describe("the settings", () => {
  it.effect("need a key, and are named when they are wrong", () =>
    Effect.gen(function* () {
      expect(yield* problemOf({})).toBe("SVC_CARTESIA_API_KEY is not set")
      expect(yield* problemOf({ SVC_CARTESIA_API_KEY: "k", SVC_CARTESIA_URL: "wss://api.cartesia.ai/tts" })).toBe(
        "SVC_CARTESIA_URL must be an http or https address without a path, as https://api.cartesia.ai"
      )
    })
  )

  it.live("choose the model, which says what languages there are and how a speed is named", () =>
    Effect.gen(function* () {
      const server = yield* vendorServer(speaks())
      const sent = () => JSON.parse(String(server.peers.at(-1)?.received.at(-2)))
      for (const [model, speaksDanish, slow, faster] of [
        ["sonic-3", true, { generation_config: { speed: 0.6 } }, { generation_config: { speed: 1.05 } }],
        ["sonic-2", false, { speed: "slow" }, {}],
        ["sonic-turbo-2025-03-07", false, { speed: "slow" }, {}]
      ] as const) {
        const { speak, speech } = yield* setUpAt(server, { model })
        expect(speech.voices[0]?.languages.includes("da-DK")).toBe(speaksDanish)
        expect((yield* Effect.either(speak("Hej.", { language: "da-DK" })))._tag).toBe(speaksDanish ? "Right" : "Left")
        for (const [speed, expected] of [
          [1, {}],
          [0.5, slow],
          [1.05, faster]
        ] as const) {
          yield* speak("One.", { speed })
          const { generation_config, model_id, speed: label } = sent()
          expect(model_id).toBe(model)
          expect({
            ...(generation_config === undefined ? {} : { generation_config }),
            ...(label === undefined ? {} : { speed: label })
          }).toEqual(expected)
        }
      }
    }).pipe(Effect.scoped)
  )
})

describe("the voices", () => {
  it.live("are those that speak a language of the platform, in their own, and are read page by page", () =>
    Effect.gen(function* () {
      const { server, speech } = yield* setUp(speaks(), {
        listed: () => [...voices, listed("id-1", "Lena"), listed("id-2", "Sarah", { gender: null, country: null })]
      })
      expect(speech.voices.map(({ gender, languages, name }) => [name, gender, languages])).toEqual([
        ["Sarah", "female", expect.arrayContaining(["en-US", "nb-NO", "fi-FI"])],
        ["Katie", "female", ["en-US", "en-GB"]],
        ["Oliver", "male", ["en-GB", "en-US"]],
        ["Lena", "female", ["de-DE"]],
        ["Lena id-1", "female", ["en-US", "en-GB"]],
        ["Sarah id-2", "neutral", ["en-US", "en-GB"]]
      ])
      expect(server.requests.map(({ query }) => query.get("starting_after"))).toEqual([
        null,
        voices[1]?.id,
        voices[3]?.id
      ])
    }).pipe(Effect.scoped)
  )

  it.live("are found by name, ignoring case, and by id; another one is refused without a request", () =>
    Effect.gen(function* () {
      const { server, speak } = yield* setUp(speaks())
      for (const voice of ["sarah", "KATIE", katieId]) {
        yield* speak("One.", { voice })
        expect(JSON.parse(String(server.peers[0]?.received.at(-1))).voice).toEqual({ mode: "id", id: katieId })
      }
      const error = yield* Effect.flip(speak("One.", { voice: "Nobody" }))
      expect(error).toMatchObject({ reason: 'there is no voice "Nobody"', retryable: false })
      expect(server.peers).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect("are read again every five minutes", () =>
    Effect.gen(function* () {
      let all: ReadonlyArray<unknown> = []
      const server = yield* TestServices.provideLive(vendorServer(speaks(), { listed: () => all }))
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 1))
      const { speech } = yield* Fiber.join(starting)
      expect(speech.voices.map(({ name }) => name)).toEqual(["Sarah"])
      all = [listed("new", "Nova")]
      yield* TestClock.adjust("5 minutes")
      yield* real(until(() => speech.voices.length === 2))
      expect(speech.cacheKey?.({ callId: "1", voice: "Nova", language: "en-US", speed: 1 })).toBe('["sonic-3.5","new"]')
      expect(speech.cacheKey?.({ callId: "1", voice: "Nobody", language: "en-US", speed: 1 })).toBeUndefined()
    }).pipe(Effect.scoped)
  )
})

describe("the vendor", () => {
  it.live(
    "with a refused key does not stop the start: it is unhealthy, the log names the setting, and nothing the key",
    () =>
      Effect.gen(function* () {
        const server = yield* vendorServer(speaks())
        const wrong = "sk_car_wrong_0123456789"
        const setup = yield* setUpAt(server, { apiKey: wrong })
        const reason = `SVC_CARTESIA_API_KEY was refused: ${server.origin} answered 401`
        expect(yield* setup.speech.health).toEqual({ healthy: false, reason })
        expect(setup.double.logged.map(({ level, message }) => [level, message])).toEqual([
          ["error", `${reason}. Set a valid key and restart the server`]
        ])
        const error = yield* Effect.flip(setup.speak("One."))
        expect(error).toMatchObject({ reason, retryable: true })
        expect(JSON.stringify([setup.double.logged, error, String(error), Object(error).stack])).not.toContain(wrong)
      }).pipe(Effect.scoped)
  )

  it.live("that answers no list of voices is unhealthy, and still has the default voice", () =>
    Effect.gen(function* () {
      const { speech } = yield* setUp(speaks(), { request: (_, response) => void response.end('{"data":{}}') })
      expect(yield* speech.health).toEqual({ healthy: false, reason: expect.stringMatching(/no list of voices$/) })
      expect(speech.voices.map(({ name }) => name)).toEqual(["Sarah"])
    }).pipe(Effect.scoped)
  )

  it.live("that refuses a connection fails the turn, and one that asks to wait a little is asked again", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ error_code: "x", title: "Busy", message: `Too many ${apiKey}`, request_id: "1" })
      const cases: ReadonlyArray<readonly [Refusal, string, boolean]> = [
        [{ status: 500, body: "no" }, "answered 500: no", true],
        [{ status: 429, body }, "answered 429: Too many …", true],
        [{ status: 400, body }, "answered 400: Too many …", false]
      ]
      for (const [refusal, reason, retryable] of cases) {
        const { double, speak } = yield* setUp(speaks(), { upgrade: () => refusal })
        const error = yield* Effect.flip(speak("One."))
        expect(error.reason).toContain(reason)
        expect(error.retryable, reason).toBe(retryable)
        expect(JSON.stringify([double.logged, error, String(error)])).not.toContain(apiKey)
      }
      let asked = 0
      const { double, speak } = yield* setUp(speaks(), {
        upgrade: () => (asked++ === 0 ? { status: 429, headers: { "retry-after": "0.02" } } : "accept")
      })
      expect(spelledIn((yield* speak("One.")).samples(), 8000)).toBe("One.")
      expect(double.counted("rate_limit_waits")).toBe(1)
    }).pipe(Effect.scoped)
  )

  it.live("that answers with an error fails the turn with its explanation, and its connection is kept", () =>
    Effect.gen(function* () {
      const cases = [
        [429, "concurrency_limited", "Too many concurrent requests", true],
        [402, "quota_exceeded", "No credits are left", true],
        [404, "voice_not_found", "There is no such voice", false],
        [400, "model_not_found", "The model is not valid", false],
        [500, "internal", "It broke", true]
      ] as const
      for (const [status, code, title, retryable] of cases) {
        let isBroken = true
        const { double, server, speak } = yield* setUp((peer) =>
          speaks({
            before: (_, contextId) =>
              Effect.sync(() => {
                // What belongs to an unknown context does not concern the turn.
                peer.send(errorMessage("other", 500, "internal", "Not ours", ""))
                if (isBroken) peer.send(errorMessage(contextId, status, code, title, `by ${apiKey}`))
                return !isBroken
              })
          })(peer)
        )
        const error = yield* Effect.flip(speak("One."))
        expect(error.reason).toBe(`${server.origin} answered ${status}: ${code}: ${title}: by …`)
        expect(error.retryable, code).toBe(retryable)
        expect(JSON.stringify([double.logged, error, String(error)])).not.toContain(apiKey)
        isBroken = false
        expect(spelledIn((yield* speak("Two.")).samples(), 8000)).toBe("Two.")
        expect(server.peers).toHaveLength(1)
      }
    }).pipe(Effect.scoped)
  )

  it.live("that answers with an error of the whole connection fails its turns, and the next one opens another", () =>
    Effect.gen(function* () {
      let isBroken = true
      const { server, speak, speech } = yield* setUp((peer) =>
        speaks({
          before: () =>
            Effect.sync(() => {
              if (isBroken) peer.send(errorMessage(undefined, 401, "unauthorized", "Invalid API key", ""))
              return !isBroken
            })
        })(peer)
      )
      const error = yield* Effect.flip(speak("One."))
      expect(error.reason).toBe(`SVC_CARTESIA_API_KEY was refused: ${server.origin} answered 401`)
      expect((yield* speech.health).healthy).toBe(false)
      isBroken = false
      expect(spelledIn((yield* speak("Two.")).samples(), 8000)).toBe("Two.")
      expect(server.peers).toHaveLength(2)
      expect((yield* speech.health).healthy).toBe(true)
    }).pipe(Effect.scoped)
  )
})
