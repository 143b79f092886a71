import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Context, Effect, Fiber, Layer, Logger, Scope, TestClock } from "effect"
import { beforeEach, describe } from "vitest"
import * as PluginLoader from "../src/PluginLoader.ts"
import { lifecycle } from "./fixtures/Lifecycle.ts"

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

/** The message with which loading fails. The test's scope stays open, so that plugins left running would be noticed. */
const refusal = (...args: Parameters<typeof load>) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(load(...args))
    expect(error._tag).toBe("PluginError")
    expect(error.message).not.toContain("\n")
    return error.message
  })

/** A temporary directory, removed afterwards. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-plugins-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Writes a plugin in plain JavaScript to `node_modules`. */
const install = (root: string, name: string, manifest: object, file: string, plugin: string) => {
  const path = join(root, "node_modules", name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", ...manifest }))
  writeFileSync(
    join(path, file),
    `import { Schema } from "effect"
     const id = Symbol.for("@svc/providers/Plugin")
     export default { [id]: id, name: "${plugin}", apiVersion: "^2.0.0", config: Schema.Struct({}), provides: () => ({}) }`
  )
  if (name !== "effect") {
    const effect = join(root, "node_modules", "effect")
    const real = fileURLToPath(new URL("../../../node_modules/effect", import.meta.url))
    try {
      symlinkSync(real, effect)
    } catch {
      // Linked by an earlier call.
    }
  }
}

beforeEach(() => {
  lifecycle.length = 0
})

describe("PluginLoader", () => {
  describe("loading", () => {
    it.scoped("Providers lists the providers in the order of SVC_PLUGINS", () =>
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
        expect(providers.embedding).toBeUndefined()
        expect(providers.objectStore).toBeUndefined()
      })
    )

    it.scoped("an object store of a plugin is loaded and fenced", () =>
      Effect.gen(function* () {
        const providers = yield* load(["./Good.ts", "./Store.ts"])
        expect(providers.plugins.at(-1)?.capabilities).toEqual(["voiceActivity", "objectStore"])
        expect(providers.objectStore?.id).toBe("store")
        expect(yield* providers.objectStore?.health ?? Effect.void).toEqual({ healthy: true })
        const error = yield* Effect.flip(providers.objectStore?.remove("a") ?? Effect.dieMessage("no store"))
        expect(error.reason).toBe("store: crashed: boom")
      })
    )

    it.scoped("SVC_VOICE_ACTIVITY chooses the voice activity of a plugin or the engine's own", () =>
      Effect.gen(function* () {
        const chosen = (name: string) =>
          Effect.map(load(["./Store.ts"], { variables: { SVC_VOICE_ACTIVITY: name } }), (found) => found.voiceActivity)
        expect(yield* chosen("store")).toBeDefined()
        expect(yield* chosen("")).toBeDefined()
        expect(yield* chosen("built-in")).toBeUndefined()
        expect(yield* refusal(["./Store.ts"], { variables: { SVC_VOICE_ACTIVITY: "good" } })).toContain(
          "plugin good: is not loaded, but SVC_VOICE_ACTIVITY names it"
        )
      })
    )

    it.effect("a layer that several capabilities share is built once and closed once", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* load(["./Good.ts"])
            expect(lifecycle).toEqual(["good started"])
          })
        )
        expect(lifecycle).toEqual(["good started", "good stopped"])
      })
    )

    it.effect("plugins stop in the reverse of the order in which they started", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(load(["./Good.ts", "./ModelOnly.ts"]))
        expect(lifecycle).toEqual(["good started", "model-only started", "model-only stopped", "good stopped"])
      })
    )

    it.effect("the other plugins are stopped when the release of one hangs", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.scoped(load(["./Good.ts", "./HangsOnRelease.ts"])))
        yield* awaitWith("1 minute", fiber)
        expect(lifecycle).toEqual(["good started", "good stopped"])
      })
    )

    it.scoped("the default plugins are loaded only when SVC_PLUGINS is empty", () =>
      Effect.gen(function* () {
        const byDefault = yield* load([], { defaults: ["./ModelOnly.ts"] })
        expect(byDefault.plugins.map(({ name }) => name)).toEqual(["model-only"])
        const named = yield* load(["./Good.ts"], { defaults: ["./ModelOnly.ts"] })
        expect(named.plugins.map(({ name }) => name)).toEqual(["good"])
      })
    )
  })

  describe("finding plugins", () => {
    it.scoped("svc.config.json in the working directory is read when SVC_PLUGINS is not set", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        writeFileSync(join(root, "svc.config.json"), JSON.stringify({ plugins: [join(directory, "ModelOnly.ts")] }))
        const providers = yield* load([], { directory: root, defaults: ["./Good.ts"] })
        expect(providers.plugins.map(({ name }) => name)).toEqual(["model-only"])
      })
    )

    it.scoped("a field of svc.config.json that has no effect is named, with those that have one", () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => void logged.push(String(message)))
        )
        const root = yield* temporary
        const file = { plugin: ["x"], $schema: "x", plugins: [join(directory, "ModelOnly.ts")], settings: {} }
        writeFileSync(join(root, "svc.config.json"), JSON.stringify(file))
        yield* load([], { directory: root }).pipe(Effect.provide(logger))
        expect(logged).toEqual(["svc.config.json has plugin, which has no effect; its fields are plugins, settings"])
      })
    )

    it.scoped("an invalid svc.config.json is reported with the path of the error", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        writeFileSync(join(root, "svc.config.json"), "{ plugins: ")
        expect(yield* refusal([], { directory: root })).toContain("plugin svc.config.json: is not a JSON object")
        writeFileSync(join(root, "svc.config.json"), JSON.stringify({ plugins: ["a", 7] }))
        expect(yield* refusal([], { directory: root })).toContain("plugin svc.config.json: plugins.1: Expected")
      })
    )

    it.scoped("a package in node_modules of a parent directory is found through its exports or main", () =>
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

    it.scoped("exports are resolved with the conditions in NODE_OPTIONS", () =>
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

    it.scoped("a path may name the folder of a package", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        install(root, "acme", { exports: "./entry.js" }, "entry.js", "acme")
        const providers = yield* load(["./node_modules/acme"], { directory: root })
        expect(providers.plugins.map(({ name }) => name)).toEqual(["acme"])
      })
    )

    it.scoped("a package that was not compiled is reported with what to do", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        install(root, "exported", { exports: "./dist/Entry.js" }, "other.js", "exported")
        install(root, "main", { main: "dist/Entry.js" }, "other.js", "main")
        install(root, "plain", { exports: "./Entry.js" }, "other.js", "plain")
        for (const name of ["exported", "main"]) {
          expect(yield* refusal([name], { directory: root })).toBe(
            `plugin ${name}: not found: its entry file ${root}/node_modules/${name}/dist/Entry.js does not exist; compile it first (npx tsc)`
          )
        }
        expect(yield* refusal(["plain"], { directory: root })).toMatch(/Entry\.js does not exist$/)
      })
    )

    it.scoped("a module that does not load is reported with its file and line", () =>
      Effect.gen(function* () {
        const root = yield* temporary
        writeFileSync(join(root, "helper.mjs"), "export const fail = () => {\n  throw new Error('no license')\n}\n")
        writeFileSync(join(root, "plugin.mjs"), "import { fail } from './helper.mjs'\n\nfail()\n")
        expect(yield* refusal(["./plugin.mjs"], { directory: root })).toContain(
          `its module failed to load: no license (${root}/helper.mjs:2)`
        )
        // The frames of Node itself are no place of the plugin.
        const stack = "Error: refused\\n    at load (node:internal/modules/esm/utils:346:16)"
        writeFileSync(join(root, "frames.mjs"), `throw Object.assign(new Error("refused"), { stack: "${stack}" })\n`)
        expect(yield* refusal(["./frames.mjs"], { directory: root })).toBe(
          "plugin ./frames.mjs: its module failed to load: refused"
        )
      })
    )

    it.scoped("a plugin that is not found is reported with the searched location", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["@svc/plugin-nowhere"])).toMatch(
          /^plugin @svc\/plugin-nowhere: not found: no such package is installed \(looked from .*fixtures upwards\).* SVC_PLUGINS /
        )
        expect(yield* refusal(["./nowhere.ts"])).toMatch(
          /^plugin .\/nowhere.ts: not found: there is no file or folder .*nowhere.ts$/
        )
        expect(yield* refusal(["./folder"])).toContain("has no entry that can be imported")
        expect(yield* refusal(["simulated"])).toMatch(
          /^plugin simulated: not found: .*; the package of this name is @svc\/plugin-simulated$/
        )
        expect(yield* refusal(["simulator"])).toMatch(/has it been installed\?$/)
      })
    )
  })

  describe("invalid plugins", () => {
    it.scoped("an invalid plugin is refused with one line that states the reason, and no plugin is started", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./Good.ts", "./NotAPlugin.ts"])).toContain("./NotAPlugin.ts: is not a plugin")
        expect(yield* refusal(["./Good.ts", "./ThrowsOnImport.ts"])).toBe(
          `plugin ./ThrowsOnImport.ts: its module failed to load: native module is missing (${join(directory, "ThrowsOnImport.ts")}:1)`
        )
        expect(yield* refusal(["./Good.ts", "./WrongVersion.ts"])).toContain(
          "written for version ^3.0.0 of the plugin contract, but this server has 2.0.0; install a version of the plugin that fits"
        )
        expect(yield* refusal(["./Good.ts", "./FirstVersion.ts"])).toBe(
          'plugin ./FirstVersion.ts: it is written for version ^1.0.0 of the plugin contract, but this server has 2.0.0; install a version of the plugin that fits, or change it as docs/plugins.md, "From 1 to 2", says'
        )
        expect(yield* refusal(["./NoRange.ts"])).toContain('its apiVersion "newest" is not a semver range')
        expect(yield* refusal(["./BadName.ts"])).toContain('its name "Bad Name" must be')
        expect(yield* refusal(["./Good.ts", "./SameName.ts"])).toBe(
          "plugin good: loaded twice, from ./Good.ts and from ./SameName.ts; name it once in SVC_PLUGINS"
        )
        expect(lifecycle).toEqual([])
      })
    )

    it.scoped("a module that never finishes loading is refused after the deadline", () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(refusal(["./NeverImports.ts"]))
        expect(yield* awaitWith("1 minute", fiber)).toBe("plugin ./NeverImports.ts: its module did not load within 20s")
      })
    )
  })

  describe("settings", () => {
    const settings = (variables: { readonly [name: string]: string }) => ({ variables })

    it.scoped("the setting someKey is read from SVC_<NAME>_SOME_KEY, with defaults", () =>
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

    it.scoped("each missing or invalid variable is named without its value", () =>
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
        expect(lifecycle).toEqual([])
      })
    )

    it.scoped("a setting of several forms says what it must be, without that it may be absent", () =>
      Effect.gen(function* () {
        const wrong = (name: string, value: string) =>
          refusal(["./Choices.ts"], settings({ [`SVC_CHOICES_${name}`]: value }))
        expect(yield* wrong("ORIGINS", "foo")).toBe("plugin choices: SVC_CHOICES_ORIGINS must be a list of origins")
        expect(yield* wrong("STREAMING", "yes")).toBe("plugin choices: SVC_CHOICES_STREAMING must be true or false")
        expect(yield* wrong("MODE", "none")).toBe("plugin choices: SVC_CHOICES_MODE must be low, middle or high")
      })
    )

    /** Loads with a `svc.config.json`. */
    const inFile = (file: unknown, variables = {}) =>
      Effect.map(temporary, (root) => {
        writeFileSync(join(root, "svc.config.json"), JSON.stringify(file))
        return { directory: root, variables }
      })

    it.scoped("settings stand in svc.config.json too; a variable comes before them", () =>
      Effect.gen(function* () {
        const plugin = join(directory, "Settings.ts")
        const written = { apiKey: "in the file", maxTokens: 12, baseURL: "http://file" }
        const options = yield* inFile(
          { plugins: [plugin], settings: { "with-settings": written } },
          { SVC_WITH_SETTINGS_BASE_URL: "http://variable" }
        )
        const [model] = (yield* load([], options)).languageModel
        expect(model?.models).toEqual(["in the file", "12", "http://variable"])
        const other = yield* load([plugin, join(directory, "Good.ts")], options)
        expect(other.languageModel[0]?.models).toEqual(["in the file", "12", "http://variable"])
      })
    )

    it.scoped("a wrong setting in the file is named with its place, and its value is not shown", () =>
      Effect.gen(function* () {
        const sources = [join(directory, "Settings.ts")]
        const of = (settings: unknown) => Effect.flatMap(inFile({ plugins: sources, settings }), (o) => refusal([], o))
        expect(yield* of({ "with-settings": { apiKey: "s3cret" } })).toMatch(
          /^plugin with-settings: settings\.with-settings\.apiKey in svc\.config\.json must be .*8 character(?!.*s3cret)/
        )
        expect(yield* of({ "with-settings": { apikey: "12345678", api_key: 1 } })).toBe(
          "plugin with-settings: settings.with-settings in svc.config.json has apikey, api_key; the settings of this plugin are apiKey, maxTokens, baseURL, provides"
        )
        expect(yield* of({ "with-settings": { apiKey: { s3cret: 1 } } })).toBe(
          "plugin svc.config.json: settings.with-settings.apiKey: Expected a text, a number, true, false, or a list of them"
        )
        expect(yield* of({ "with-settings": { maxTokens: 7 } })).toBe(
          "plugin with-settings: SVC_WITH_SETTINGS_API_KEY is not set"
        )
      })
    )

    it.scoped("SVC_<NAME>_PROVIDES limits a plugin to some of its capabilities", () =>
      Effect.gen(function* () {
        const good = (provides: string) => ({ variables: { SVC_GOOD_PROVIDES: provides } })
        const limited = yield* load(["./Good.ts"], good("language-model, speech-to-text"))
        expect(limited.plugins[0]?.capabilities).toEqual(["speechToText", "languageModel"])
        expect([limited.textToSpeech, limited.telephony]).toEqual([[], []])
        expect(yield* refusal(["./Good.ts"], good("speech"))).toBe(
          'plugin good: SVC_GOOD_PROVIDES has "speech"; it is a list of telephony, speech-to-text, text-to-speech, language-model, voice-activity, embedding, object-store'
        )
        expect(yield* refusal(["./Good.ts"], good("language-model,embedding"))).toBe(
          "plugin good: it is to provide embedding, and does not: it cannot, or a setting that this needs is not set"
        )
        const file = { plugins: [join(directory, "Good.ts")], settings: { good: { provides: ["telephony"] } } }
        expect((yield* load([], yield* inFile(file))).plugins[0]?.capabilities).toEqual(["telephony"])
      })
    )
  })

  describe("plugins that fail to start", () => {
    const lines = {
      error: "plugin failing: the vendor refused the key",
      defect: "plugin failing: failed to start: x is undefined",
      throw: "plugin failing: failed to start: cannot decide what to provide"
    }
    for (const [how, line] of Object.entries(lines)) {
      it.scoped(`started plugins are stopped before the error when a layer fails with: ${how}`, () =>
        Effect.gen(function* () {
          const variables = { SVC_FAILING_HOW: how }
          expect(yield* refusal(["./Good.ts", "./FailingLayer.ts"], { variables })).toBe(line)
          const own = how === "throw" ? [] : ["failing started", "failing stopped"]
          expect(lifecycle).toEqual(["good started", ...own, "good stopped"])
        })
      )
    }

    for (const how of ["hang", "hang-uninterruptibly"]) {
      it.scoped(`a layer that does not start within the deadline is refused: ${how}`, () =>
        Effect.gen(function* () {
          const variables = { SVC_FAILING_HOW: how }
          const fiber = yield* Effect.fork(
            refusal(["./Good.ts", "./FailingLayer.ts"], { variables, deadline: "7 seconds" })
          )
          expect(yield* awaitWith("30 seconds", fiber)).toBe("plugin failing: did not start within 7s")
          expect(lifecycle).toEqual(["good started", "failing started", "failing stopped", "good stopped"])
        })
      )
    }

    it.scoped("two telephony plugins with the same id are refused", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./Good.ts", "./SameTelephony.ts"])).toBe(
          'plugin same-telephony: its telephony id "good" is taken by plugin good; load only one of them'
        )
        expect(lifecycle.slice(2)).toEqual(["same-telephony stopped", "good stopped"])
      })
    )

    it.scoped("missing required capabilities are named", () =>
      Effect.gen(function* () {
        expect(yield* refusal(["./ModelOnly.ts"], { required: PluginLoader.callCapabilities })).toBe(
          "plugin model-only: no telephony, no speech-to-text, no text-to-speech plugin is loaded; add one to SVC_PLUGINS"
        )
        expect(lifecycle).toEqual(["model-only started", "model-only stopped"])
        expect(yield* refusal([], { required: ["telephony"] })).toBe(
          "plugin (none): no telephony plugin is loaded; add one to SVC_PLUGINS"
        )
      })
    )

    it.effect("started plugins are stopped when loading is interrupted", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const fiber = yield* load(["./Good.ts", "./FailingLayer.ts"], { variables: { SVC_FAILING_HOW: "hang" } }).pipe(
          Scope.extend(scope),
          Effect.fork
        )
        yield* until(() => lifecycle.includes("failing started"))
        yield* Fiber.interrupt(fiber)
        expect(lifecycle.slice(2).sort()).toEqual(["failing stopped", "good stopped"])
      })
    )
  })
})

/** Yields to the event loop, on which imports run, until `condition` holds. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.zipRight(
          Effect.promise(() => new Promise(setImmediate)),
          until(condition)
        )
  )

/** Advances virtual time in seconds, at most `limit`, until the fiber is done. */
const awaitWith = <A, E>(limit: "1 minute" | "30 seconds", fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    for (let second = 0; second < (limit === "1 minute" ? 60 : 30); second++) {
      for (let turn = 0; turn < 50; turn++) yield* Effect.promise(() => new Promise(setImmediate))
      if (fiber.unsafePoll() !== null) break
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })
