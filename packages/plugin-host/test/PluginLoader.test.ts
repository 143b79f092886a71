import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Context, Effect, Fiber, Layer, Scope, TestClock } from "effect"
import { beforeEach, describe } from "vitest"
import * as PluginLoader from "../src/PluginLoader.ts"
import { journal } from "./fixtures/Journal.ts"

const directory = fileURLToPath(new URL("./fixtures", import.meta.url))

const load = (
  plugins: ReadonlyArray<string>,
  options: PluginLoader.LoaderOptions & { readonly variables?: { readonly [name: string]: string } } = {}
) =>
  Layer.build(PluginLoader.layer({ directory, required: [], ...options })).pipe(
    Effect.map(Context.get(Providers)),
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map([["SVC_PLUGINS", plugins.join(",")], ...Object.entries(options.variables ?? {})]))
    )
  )

/** The one line that loading fails with; and a scope that stays open, so that what is left running would show. */
const refusal = (...args: Parameters<typeof load>) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(load(...args))
    expect(error._tag).toBe("PluginError")
    expect(error.message).not.toContain("\n")
    return error.message
  })

/** A directory of its own, removed afterwards. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-plugins-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A package in `node_modules`, in plain JavaScript. */
const install = (root: string, name: string, manifest: object, file: string, plugin: string) => {
  const path = join(root, "node_modules", name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", ...manifest }))
  writeFileSync(
    join(path, file),
    `import { Schema } from "effect"
     const id = Symbol.for("@svc/providers/Plugin")
     export default { [id]: id, name: "${plugin}", apiVersion: "^1.0.0", config: Schema.Struct({}), provides: () => ({}) }`
  )
  if (name !== "effect") {
    const effect = join(root, "node_modules", "effect")
    const real = fileURLToPath(new URL("../../../node_modules/effect", import.meta.url))
    try {
      symlinkSync(real, effect)
    } catch {
      // Linked by the package before.
    }
  }
}

beforeEach(() => {
  journal.length = 0
})

describe("PluginLoader", () => {
  describe("loading", () => {
    it.scoped("gives the providers in the order in which the plugins are named", () =>
      Effect.gen(function* () {
        const providers = yield* load(["./ModelOnly.ts", " ./Good.ts "], { required: PluginLoader.callCapabilities })
        expect(providers.plugins).toEqual([
          { name: "model-only", source: "./ModelOnly.ts", capabilities: ["languageModel"] },
          {
            name: "good",
            source: "./Good.ts",
            capabilities: ["telephony", "speechToText", "textToSpeech", "languageModel"]
          }
        ])
        expect(providers.languageModel.map(({ id }) => id)).toEqual(["model-only", "silent"])
        expect(providers.telephony.map(({ id }) => id)).toEqual(["good"])
        expect(providers.voiceActivity).toBeUndefined()
      })
    )

    it.effect("builds a layer that several capabilities share once, and closes it once", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* load(["./Good.ts"])
            expect(journal).toEqual(["good started"])
          })
        )
        expect(journal).toEqual(["good started", "good stopped"])
      })
    )

    it.effect("stops the plugins in the reverse of the order in which they started", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(load(["./Good.ts", "./ModelOnly.ts"]))
        expect(journal).toEqual(["good started", "model-only started", "model-only stopped", "good stopped"])
      })
    )

    it.effect("goes on stopping when a plugin does not let go", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.scoped(load(["./Good.ts", "./HangingRelease.ts"])))
        yield* awaitWith("1 minute", fiber)
        expect(journal).toEqual(["good started", "good stopped"])
      })
    )

    it.scoped("uses the defaults when nothing is named, and what is named instead of them", () =>
      Effect.gen(function* () {
        const byDefault = yield* load([], { defaults: ["./ModelOnly.ts"] })
        expect(byDefault.plugins.map(({ name }) => name)).toEqual(["model-only"])
        const named = yield* load(["./Good.ts"], { defaults: ["./ModelOnly.ts"] })
        expect(named.plugins.map(({ name }) => name)).toEqual(["good"])
      })
    )
  })

  describe("where plugins are found", () => {
    it.scoped("reads svc.config.json in the working directory when the variable is not set", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        writeFileSync(join(root, "svc.config.json"), JSON.stringify({ plugins: [join(directory, "ModelOnly.ts")] }))
        const providers = yield* load([], { directory: root, defaults: ["./Good.ts"] })
        expect(providers.plugins.map(({ name }) => name)).toEqual(["model-only"])
      })
    )

    it.scoped("says what is wrong with svc.config.json", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        writeFileSync(join(root, "svc.config.json"), "{ plugins: ")
        expect(yield* refusal([], { directory: root })).toContain("plugin svc.config.json: is not a JSON object")
        writeFileSync(join(root, "svc.config.json"), JSON.stringify({ plugins: ["a", 7] }))
        expect(yield* refusal([], { directory: root })).toContain("plugin svc.config.json: plugins.1: Expected")
      })
    )

    it.scoped("finds a package that is installed beside the server, by the exports for import", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        const manifest = { exports: { ".": { require: "./no.cjs", import: { default: "./entry.js" } } } }
        install(root, "@acme/svc-plugin", manifest, "entry.js", "acme")
        install(root, "plain", { main: "main.js" }, "main.js", "plain")
        install(root, "sub", { exports: { "./plugins/*": "./*.js" } }, "one.js", "sub")
        mkdirSync(join(root, "deep", "er"), { recursive: true })
        const providers = yield* load(["@acme/svc-plugin", "plain", "sub/plugins/one"], {
          directory: join(root, "deep", "er")
        })
        expect(providers.plugins.map(({ name }) => name)).toEqual(["acme", "plain", "sub"])
      })
    )

    it.scoped("follows the conditions that Node was started with, by flag or by NODE_OPTIONS", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        const manifest = { exports: { ".": { special: "./special.js", default: "./usual.js" } } }
        install(root, "acme", manifest, "special.js", "special")
        install(root, "acme", manifest, "usual.js", "usual")
        const name = (flags: Record<string, string>) =>
          load(["acme"], { directory: root, variables: flags }).pipe(
            Effect.map((providers) => providers.plugins.map((plugin) => plugin.name))
          )
        expect(yield* name({})).toEqual(["usual"])
        expect(yield* name({ NODE_OPTIONS: "--enable-source-maps --conditions=special" })).toEqual(["special"])
        expect(yield* name({ NODE_OPTIONS: "-C special" })).toEqual(["special"])
      })
    )

    it.scoped("takes the folder of a package as a path", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        install(root, "acme", { exports: "./entry.js" }, "entry.js", "acme")
        const providers = yield* load(["./node_modules/acme"], { directory: root })
        expect(providers.plugins.map(({ name }) => name)).toEqual(["acme"])
      })
    )

    it.scoped("says where it looked for what is not there", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["@svc/plugin-nowhere"])).toMatch(
          /^plugin @svc\/plugin-nowhere: not found: no such package is installed \(looked from .*fixtures upwards\).* SVC_PLUGINS /
        )
        expect(yield* refusal(["./nowhere.ts"])).toMatch(
          /^plugin .\/nowhere.ts: not found: there is no file or folder .*nowhere.ts$/
        )
        expect(yield* refusal(["./folder"])).toContain("has no entry that can be imported")
      })
    )
  })

  describe("what is not a plugin for this server", () => {
    it.scoped("refuses it with one line that says why, and starts nothing", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./Good.ts", "./NotAPlugin.ts"])).toContain("./NotAPlugin.ts: is not a plugin")
        expect(yield* refusal(["./Good.ts", "./ThrowsOnImport.ts"])).toBe(
          "plugin ./ThrowsOnImport.ts: its module failed to load: native module is missing"
        )
        expect(yield* refusal(["./Good.ts", "./WrongVersion.ts"])).toContain(
          "written for version ^2.0.0 of the plugin contract, but this server has 1.0.0"
        )
        expect(yield* refusal(["./NoRange.ts"])).toContain('its apiVersion "newest" is not a semver range')
        expect(yield* refusal(["./BadName.ts"])).toContain('its name "Bad Name" must be')
        expect(yield* refusal(["./Good.ts", "./SameName.ts"])).toBe(
          "plugin good: loaded twice, from ./Good.ts and from ./SameName.ts; name it once in SVC_PLUGINS"
        )
        expect(journal).toEqual([])
      })
    )

    it.scoped("gives up a module that never finishes loading", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(refusal(["./NeverImports.ts"]))
        expect(yield* awaitWith("1 minute", fiber)).toBe("plugin ./NeverImports.ts: its module did not load within 20s")
      })
    )
  })

  describe("settings", () => {
    const settings = (variables: { readonly [name: string]: string }) => ({ variables })

    it.scoped("reads someKey from SVC_<NAME>_SOME_KEY, with defaults", () =>
      Effect.gen(function* () {
        const first = yield* load(["./Settings.ts"], settings({ SVC_WITH_SETTINGS_API_KEY: "12345678" }))
        expect(first.languageModel[0]?.models).toEqual(["12345678", "100", "no url"])
        const all = {
          SVC_WITH_SETTINGS_API_KEY: "12345678",
          SVC_WITH_SETTINGS_MAX_TOKENS: "7",
          SVC_WITH_SETTINGS_BASE_URL: "http://x"
        }
        const second = yield* load(["./Settings.ts"], settings(all))
        expect(second.languageModel[0]?.models).toEqual(["12345678", "7", "http://x"])
      })
    )

    it.scoped("names each variable that is missing or wrong, and never shows its value", () =>
      Effect.gen(function* () {
        const both = yield* refusal(["./Good.ts", "./Settings.ts"], settings({ SVC_WITH_SETTINGS_MAX_TOKENS: "many" }))
        expect(both).toContain("SVC_WITH_SETTINGS_API_KEY is not set")
        expect(both).toMatch(/SVC_WITH_SETTINGS_MAX_TOKENS \S+/)
        const short = yield* refusal(["./Settings.ts"], settings({ SVC_WITH_SETTINGS_API_KEY: "s3cret" }))
        expect(short).toMatch(/SVC_WITH_SETTINGS_API_KEY must be .*8 character/)
        expect(short).not.toContain("s3cret")
        expect(yield* refusal(["./Settings.ts"], settings({ SVC_WITH_SETTINGS_API_KEY: "" }))).toContain(
          "SVC_WITH_SETTINGS_API_KEY is not set"
        )
        expect(journal).toEqual([])
      })
    )
  })

  describe("plugins that cannot start", () => {
    const lines = {
      error: "plugin failing: the vendor refused the key",
      defect: "plugin failing: failed to start: x is undefined",
      throw: "plugin failing: failed to start: cannot decide what to provide"
    }
    for (const [how, line] of Object.entries(lines)) {
      it.scoped(`closes everything before the error when a layer ends with: ${how}`, () =>
        Effect.gen(function* () {
          const variables = { SVC_FAILING_HOW: how }
          expect(yield* refusal(["./Good.ts", "./FailingLayer.ts"], { variables })).toBe(line)
          const own = how === "throw" ? [] : ["failing started", "failing stopped"]
          expect(journal).toEqual(["good started", ...own, "good stopped"])
        })
      )
    }

    for (const how of ["hang", "hang-uninterruptibly"]) {
      it.scoped(`gives up a layer that does: ${how}`, () =>
        Effect.gen(function* () {
          const variables = { SVC_FAILING_HOW: how }
          const fiber = yield* Effect.fork(
            refusal(["./Good.ts", "./FailingLayer.ts"], { variables, deadline: "7 seconds" })
          )
          expect(yield* awaitWith("30 seconds", fiber)).toBe("plugin failing: did not start within 7s")
          expect(journal).toEqual(["good started", "failing started", "failing stopped", "good stopped"])
        })
      )
    }

    it.scoped("refuses two telephony plugins of one id", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./Good.ts", "./SameTelephony.ts"])).toBe(
          'plugin same-telephony: its telephony id "good" is taken by plugin good; load only one of them'
        )
        expect(journal.slice(2)).toEqual(["same-telephony stopped", "good stopped"])
      })
    )

    it.scoped("names the capabilities without which no call can be answered", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./ModelOnly.ts"], { required: PluginLoader.callCapabilities })).toBe(
          "plugin model-only: no telephony, no speech-to-text, no text-to-speech plugin is loaded; add one to SVC_PLUGINS"
        )
        expect(journal).toEqual(["model-only started", "model-only stopped"])
        expect(yield* refusal([], { required: ["telephony"] })).toBe(
          "plugin (none): no telephony plugin is loaded; add one to SVC_PLUGINS"
        )
      })
    )

    it.effect("leaves nothing running when it is interrupted while a plugin starts", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const fiber = yield* load(["./Good.ts", "./FailingLayer.ts"], { variables: { SVC_FAILING_HOW: "hang" } }).pipe(
          Scope.extend(scope),
          Effect.fork
        )
        yield* until(() => journal.includes("failing started"))
        yield* Fiber.interrupt(fiber)
        expect(journal.slice(2).sort()).toEqual(["failing stopped", "good stopped"])
      })
    )
  })
})

/** Lets imports, which are real, go on until `condition` holds. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.zipRight(
          Effect.promise(() => new Promise(setImmediate)),
          until(condition)
        )
  )

/** Lets virtual time pass, a second at a time, at most `limit`, until the fiber is done. */
const awaitWith = <A, E>(limit: "1 minute" | "30 seconds", fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    for (let second = 0; second < (limit === "1 minute" ? 60 : 30); second++) {
      for (let turn = 0; turn < 50; turn++) yield* Effect.promise(() => new Promise(setImmediate))
      if (fiber.unsafePoll() !== null) break
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })
