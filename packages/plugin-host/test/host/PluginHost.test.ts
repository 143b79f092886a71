import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Context, Effect, HashMap, Layer, Logger, LogLevel } from "effect"
import { beforeEach, describe } from "vitest"
import { HostResources } from "../../src/host/HostResources.ts"
import { makeHost } from "../../src/host/PluginHost.ts"
import * as PluginLoader from "../../src/PluginLoader.ts"
import { hosts } from "../fixtures/UsesHost.ts"

const directory = fileURLToPath(new URL("../fixtures", import.meta.url))

interface Entry {
  readonly level: string
  readonly message: unknown
  readonly annotations: { readonly [name: string]: unknown }
}

/** A logger that keeps its entries. */
const keeping = () => {
  const entries: Array<Entry> = []
  const logger = Logger.make(({ annotations, logLevel, message }) => {
    const [only, ...more] = Array.isArray(message) ? message : [message]
    entries.push({
      level: logLevel.label,
      message: more.length === 0 ? only : message,
      annotations: Object.fromEntries(HashMap.toEntries(annotations))
    })
  })
  return { entries, layer: Logger.replace(Logger.defaultLogger, logger) }
}

const load = Layer.build(PluginLoader.layer({ directory, required: [] })).pipe(
  Effect.map(Context.get(Providers)),
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "./UsesHost.ts"]])))
)

const resources = {
  baseUrl: "https://voice.example.com",
  callsLeft: () => Effect.succeed(0),
  linkState: () => Effect.succeed("closed" as const),
  secret: "of the installation",
  pluginsDir: "/var/lib/svc/plugins",
  makeVoiceActivity: () => ({ push: () => "speech" as const }),
  makeResampler: () => ({ push: (samples: Int16Array) => samples, end: () => new Int16Array(0) })
}

beforeEach(() => {
  hosts.length = 0
})

describe("the host of a plugin", () => {
  it.scoped("is given to provides, with the resources of the process", () =>
    Effect.gen(function* () {
      yield* Effect.provideService(load, HostResources, resources)
      expect(hosts).toHaveLength(1)
      expect(hosts[0]?.baseUrl).toBe("https://voice.example.com")
      expect(hosts[0]?.folder).toBe("/var/lib/svc/plugins/uses-host")
      const samples = Int16Array.of(1, 2)
      expect(hosts[0]?.makeResampler(8000, 16_000).push(samples)).toBe(samples)
      expect(hosts[0]?.makeVoiceActivity(8000).push(samples)).toBe("speech")
    })
  )

  it.effect("refuses sample rates that its detector and resampler cannot use", () =>
    Effect.gen(function* () {
      const host = yield* Effect.provideService(makeHost("a"), HostResources, resources)
      for (const rate of [0, -8000, Number.NaN, Infinity, 8000.5, 12_000, 96_000]) {
        expect(() => host.makeVoiceActivity(rate)).toThrow("the sample rate of a detector cannot be")
      }
      for (const rate of [0, -8000, Number.NaN, Infinity, 8000.5, 96_000]) {
        expect(() => host.makeResampler(8000, rate)).toThrow("the sample rate of a resampler cannot be")
        expect(() => host.makeResampler(rate, 8000)).toThrow("the sample rate of a resampler cannot be")
      }
    })
  )

  it.scoped("shows the plugin's name in what it logs, also in fibers of its layers and when it is asked", () => {
    const { entries, layer } = keeping()
    return Effect.gen(function* () {
      const { embedding } = yield* load
      hosts[0]?.log.warning("reconnected", { call_id: "call_1" })
      yield* Effect.annotateLogs(embedding?.embed(["a"], "query") ?? Effect.void, "call_id", "call_2")
      yield* Effect.log("ours")
      const of = (text: string) => entries.filter(({ message }) => message === text)
      for (const text of ["built", "in a fiber"]) {
        expect(of(text)).toMatchObject([{ annotations: { plugin: "uses-host" } }])
      }
      expect(of("asked")).toMatchObject([{ annotations: { plugin: "uses-host", call_id: "call_2" } }])
      expect(of("reconnected")).toEqual([
        { level: "WARN", message: "reconnected", annotations: { plugin: "uses-host", call_id: "call_1" } }
      ])
      expect(of("ours")).toMatchObject([{ annotations: {} }])
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not log below the level of the server, and never throws", () => {
    const { entries, layer } = keeping()
    return Effect.gen(function* () {
      const { log } = yield* makeHost("a")
      log.debug("too detailed")
      log.info("too detailed")
      log.error("broken")
      // In plain JavaScript anything may be given.
      const unreadable: { readonly [name: string]: unknown } = Object.defineProperty({}, "secret", {
        enumerable: true,
        get: () => {
          throw new Error("boom")
        }
      })
      expect(() => log.error("with fields that cannot be read", unreadable)).not.toThrow()
      expect(entries.map(({ message }) => message)).toEqual(["broken", "with fields that cannot be read"])
    }).pipe(Logger.withMinimumLogLevel(LogLevel.Warning), Effect.provide(layer))
  })
})
