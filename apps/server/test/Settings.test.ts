import { describe, expect, it } from "@effect/vitest"
import { type Config, ConfigProvider, Effect } from "effect"
import { httpSettings } from "../src/http/listening/HttpSettings.ts"
import * as Logging from "../src/Logging.ts"
import { describe as inWords, provider } from "../src/Settings.ts"

const withSettings = (settings: Record<string, string>) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings))))

const problem = (settings: Record<string, string>) =>
  httpSettings.pipe(withSettings(settings), Effect.flip, Effect.map(inWords))

describe("settings", () => {
  it.effect("have defaults", () =>
    Effect.gen(function* () {
      expect(yield* withSettings({})(httpSettings)).toEqual({
        host: "127.0.0.1",
        port: 8787,
        baseUrl: undefined,
        strictResponses: false
      })
      const given = {
        SVC_HOST: "::1",
        SVC_PORT: "0",
        SVC_BASE_URL: "https://voice.example.com/",
        SVC_STRICT_RESPONSES: "true"
      }
      expect(yield* withSettings(given)(httpSettings)).toEqual({
        host: "::1",
        port: 0,
        baseUrl: "https://voice.example.com",
        strictResponses: true
      })
    })
  )

  it.effect("that are invalid are named, with what is accepted", () =>
    Effect.gen(function* () {
      const port = "SVC_PORT must be a port number from 0 to 65535 (0: any free port)"
      for (const wrong of ["abc", "-1", "65536", "80.5", "1e3"]) expect(yield* problem({ SVC_PORT: wrong })).toBe(port)
      expect(yield* problem({ SVC_HOST: "not a host" })).toBe(
        "SVC_HOST must be an IP address or a host name of this machine"
      )
      expect(yield* problem({ SVC_BASE_URL: "ftp://x" })).toMatch(/^SVC_BASE_URL must be a URL like https/)
      expect(yield* problem({ SVC_STRICT_RESPONSES: "perhaps" })).toBe("SVC_STRICT_RESPONSES must be true or false")
      const level = Logging.logLevel.pipe(withSettings({ SVC_LOG_LEVEL: "loud" }), Effect.flip, Effect.map(inWords))
      expect(yield* level).toBe("SVC_LOG_LEVEL must be trace, debug, info, warn, error or none")
    })
  )

  it.effect("of the development mode apply where a variable is not set", () =>
    Effect.gen(function* () {
      const read = (development: boolean, config: Config.Config<string>) =>
        Effect.either(provider(development).load(config))
      const { Config: C } = yield* Effect.promise(() => import("effect"))
      expect(yield* read(true, C.string("SVC_PLUGINS"))).toMatchObject({ right: "@svc/plugin-simulated" })
      expect((yield* read(false, C.string("SVC_PLUGINS")))._tag).toBe("Left")
    })
  )
})
