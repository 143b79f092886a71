import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Either } from "effect"
import * as Plugins from "../../src/commands/plugins/Plugins.ts"
import { Reported } from "../../src/StartFailure.ts"

const noKey = fileURLToPath(new URL("../fixtures/NoKeyPlugin.ts", import.meta.url))
const simulated = "@svc/plugin-simulated"

/** Runs a command with these plugins. Returns what it printed, and its failure. */
const run = <E>(
  command: Effect.Effect<void, E>,
  plugins: ReadonlyArray<string>,
  variables: Record<string, string> = {}
) =>
  Effect.gen(function* () {
    const printed: Array<string> = []
    const console = yield* Effect.console
    const result = yield* Effect.either(
      Effect.withConsole(command, {
        ...console,
        log: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void printed.push(parts.join(" ")))
      })
    )
    return { printed: printed.join("\n"), failure: Either.isLeft(result) ? result.left : undefined }
  }).pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map([["SVC_PLUGINS", plugins.join(",")], ...Object.entries(variables)]))
    )
  )

const check = (name: string, suite = false) => Plugins.check({ name, times: 2, suite, json: true })

it.scopedLive("svc plugins list shows each plugin by itself, also beside one that cannot start", () =>
  Effect.gen(function* () {
    const { failure, printed } = yield* run(Plugins.list({ json: true }), ["./missing.js", noKey, simulated])
    expect(failure).toBeInstanceOf(Reported)
    expect(JSON.parse(printed).plugins).toEqual([
      {
        plugin: null,
        source: "./missing.js",
        provides: [],
        healthy: false,
        problem: expect.stringContaining("plugin ./missing.js: not found: there is no file or folder")
      },
      {
        plugin: "no-key",
        source: noKey,
        provides: ["text-to-speech", "language-model"],
        healthy: false,
        problem: "language-model: the vendor refuses SVC_NO_KEY_API_KEY"
      },
      {
        plugin: "simulated",
        source: simulated,
        provides: ["telephony", "speech-to-text", "text-to-speech", "language-model", "embedding"],
        healthy: true,
        problem: null
      }
    ])
    const table = yield* run(Plugins.list({ json: false }), [noKey])
    expect(table.printed).toMatch(/no-key\s+NO\s+text-to-speech, language-model\s.+the vendor refuses/)
    const none = yield* run(Plugins.list({ json: false }), [])
    expect(none).toEqual({ printed: expect.stringContaining("set SVC_PLUGINS"), failure: undefined })
  })
)

it.scopedLive("svc plugins check makes a request for each capability, and shows times", () =>
  Effect.gen(function* () {
    const { failure, printed } = yield* run(check("simulated"), [noKey, simulated])
    expect(failure).toBeUndefined()
    const { ok, results } = JSON.parse(printed)
    expect([ok, results.map(({ capability }: { capability: string }) => capability)]).toEqual([
      true,
      ["telephony", "speech-to-text", "text-to-speech", "language-model", "embedding"]
    ])
    expect(results[1].found).toContain('heard "Testing, one two three."')
    expect(Object.keys(results[3].times)).toEqual(["first token", "whole answer"])
  })
)

it.scopedLive("svc plugins check fails for a capability that does not work, and says why", () =>
  Effect.gen(function* () {
    // The other plugin cannot start, which does not matter.
    const { failure, printed } = yield* run(check("no-key"), [noKey, simulated], { SVC_SIMULATED_PROVIDES: "nonsense" })
    expect(failure).toBeInstanceOf(Reported)
    const { ok, results } = JSON.parse(printed)
    expect(ok).toBe(false)
    expect(results).toEqual([
      { capability: "text-to-speech", ok: false, found: "voice Mute gave silence", times: {} },
      {
        capability: "language-model",
        ok: false,
        found: "401: invalid key; health: the vendor refuses SVC_NO_KEY_API_KEY",
        times: {}
      }
    ])
    const unknown = yield* run(check("nokey"), [noKey, simulated])
    expect(String(unknown.failure)).toContain(
      "plugin nokey: no plugin has this short name; the plugins that are named: no-key, simulated"
    )
  })
)

it.scopedLive("svc plugins check takes the package of a plugin, also of one that is not configured", () =>
  Effect.gen(function* () {
    const { failure, printed } = yield* run(check(simulated), [], { SVC_SIMULATED_PROVIDES: "embedding" })
    expect(failure).toBeUndefined()
    expect(JSON.parse(printed)).toMatchObject({ plugin: "simulated", ok: true, results: [{ capability: "embedding" }] })
  })
)

it.scopedLive("svc plugins check names --dev and packages for a short name that is not configured", () =>
  Effect.gen(function* () {
    const missing = yield* run(check("simulated"), [])
    expect(String(missing.failure)).toContain(
      "no plugin has this short name; SVC_PLUGINS and svc.config.json name none; --dev adds those of the development mode, and the package or path of any plugin can be given instead"
    )
    const options = { name: "nokey", times: 1, suite: false, json: true }
    const development = yield* run(Plugins.check({ ...options, dev: true }), [simulated])
    expect(String(development.failure)).toMatch(/the plugins that are named: simulated$/)
  })
)

it.scopedLive("svc plugins check --suite runs the conformance checks", () =>
  Effect.gen(function* () {
    const { printed } = yield* run(check("simulated", true), [simulated], { SVC_SIMULATED_PROVIDES: "embedding" })
    const { ok, results } = JSON.parse(printed)
    expect(ok).toBe(true)
    const names = results.map(({ found }: { readonly found: string }) => found)
    expect(names).toContain("embed returns a vector for each text in the order of the texts")
    expect(names.length).toBeGreaterThan(5)
  })
)
