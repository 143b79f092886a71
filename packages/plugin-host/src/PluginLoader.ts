import { PluginError } from "@svc/providers/Plugin"
import { type LoadedPlugin, Providers } from "@svc/providers/Providers"
import { Duration, Effect, Exit, Layer, Scope } from "effect"
import { fencedLanguageModel } from "./fence/FencedLanguageModel.ts"
import { fencedSpeechToText } from "./fence/FencedSpeechToText.ts"
import { fencedTelephony } from "./fence/FencedTelephony.ts"
import { fencedTextToSpeech } from "./fence/FencedTextToSpeech.ts"
import { fencedVoiceActivity } from "./fence/FencedVoiceActivity.ts"
import { type BuiltPlugin, buildPlugin } from "./loader/PluginBuild.ts"
import { pluginConfig } from "./loader/PluginConfig.ts"
import { type ImportedPlugin, importPlugin } from "./loader/PluginModule.ts"
import { pluginSources } from "./loader/PluginSources.ts"

/** A kind of provider. */
export type Capability = LoadedPlugin["capabilities"][number]

/** What a phone call needs; without one of them no call can be answered. */
export const callCapabilities: ReadonlyArray<Capability> = [
  "telephony",
  "speechToText",
  "textToSpeech",
  "languageModel"
]

const order: ReadonlyArray<Capability> = [...callCapabilities, "voiceActivity"]

const words: { readonly [K in Capability]: string } = {
  telephony: "telephony",
  speechToText: "speech-to-text",
  textToSpeech: "text-to-speech",
  languageModel: "language model",
  voiceActivity: "voice activity"
}

export interface LoaderOptions {
  /** What is loaded when neither `SVC_PLUGINS` nor `svc.config.json` names anything. None by default. */
  readonly defaults?: ReadonlyArray<string>
  /** Capabilities without which loading fails; by default {@link callCapabilities}. Empty: whatever there is. */
  readonly required?: ReadonlyArray<Capability>
  /** Where `svc.config.json`, paths and packages are looked for; by default the working directory. */
  readonly directory?: string
  /** How long each plugin may take to be imported, and again to start. 20 s by default. */
  readonly deadline?: Duration.DurationInput
}

const repeated = (names: ReadonlyArray<string>): number => names.findIndex((name, index) => names.indexOf(name) < index)

/** Two plugins of one name would read the same settings and answer to the same id. */
const refuseDuplicateNames = (plugins: ReadonlyArray<ImportedPlugin>): Effect.Effect<void, PluginError> => {
  const second = plugins[repeated(plugins.map(({ plugin }) => plugin.name))]
  if (second === undefined) return Effect.void
  const first = plugins.find(({ plugin }) => plugin.name === second.plugin.name)
  return new PluginError({
    plugin: second.plugin.name,
    reason: `loaded twice, from ${first?.source} and from ${second.source}; name it once in SVC_PLUGINS`
  })
}

const refuseDuplicateTelephony = (loaded: ReadonlyArray<Started>): Effect.Effect<void, PluginError> => {
  const telephony = loaded.flatMap(({ built, plugin }) =>
    built.telephony === undefined ? [] : [{ id: built.telephony.id, plugin: plugin.name }]
  )
  const second = telephony[repeated(telephony.map(({ id }) => id))]
  if (second === undefined) return Effect.void
  const first = telephony.find(({ id }) => id === second.id)
  return new PluginError({
    plugin: second.plugin,
    reason: `its telephony id "${second.id}" is taken by plugin ${first?.plugin}; load only one of them`
  })
}

/** Fails with one line that names the capabilities which no loaded plugin provides. */
export const requireCapabilities = (
  providers: { readonly plugins: ReadonlyArray<LoadedPlugin> },
  required: ReadonlyArray<Capability>
): Effect.Effect<void, PluginError> => {
  const missing = required.filter((capability) => !providers.plugins.some((p) => p.capabilities.includes(capability)))
  if (missing.length === 0) return Effect.void
  const names = providers.plugins.map(({ name }) => name).join(", ")
  return new PluginError({
    plugin: names === "" ? "(none)" : names,
    reason: `no ${missing.map((capability) => words[capability]).join(", no ")} plugin is loaded; add one to SVC_PLUGINS`
  })
}

interface Started extends ImportedPlugin {
  readonly built: BuiltPlugin
}

const load = Effect.fn("PluginLoader.load")(function* (options: LoaderOptions) {
  const directory = options.directory ?? process.cwd()
  const deadline = Duration.decode(options.deadline ?? "20 seconds")
  const sources = yield* pluginSources(directory, options.defaults ?? [])

  // Everything that can be checked without starting anything comes first.
  const plugins = yield* Effect.forEach(sources, (source) => importPlugin(source, directory, deadline))
  yield* refuseDuplicateNames(plugins)
  const configured = yield* Effect.forEach(plugins, (imported) =>
    Effect.map(pluginConfig(imported.plugin), (config) => ({ ...imported, config }))
  )
  const started: ReadonlyArray<Started> = yield* Effect.forEach(configured, ({ config, plugin, source }) =>
    Effect.map(buildPlugin(plugin, config, deadline), (built) => ({ plugin, source, built }))
  )
  yield* refuseDuplicateTelephony(started)

  const all = <K extends keyof BuiltPlugin>(kind: K): ReadonlyArray<NonNullable<BuiltPlugin[K]>> =>
    started.flatMap(({ built }) => built[kind] ?? [])
  const best = all("voiceActivity")[0]
  const providers = {
    plugins: started.map(({ built, plugin, source }) => ({
      name: plugin.name,
      source,
      capabilities: order.filter((capability) => built[capability] !== undefined)
    })),
    telephony: yield* Effect.forEach(all("telephony"), fencedTelephony),
    speechToText: yield* Effect.forEach(all("speechToText"), fencedSpeechToText),
    textToSpeech: yield* Effect.forEach(all("textToSpeech"), fencedTextToSpeech),
    languageModel: yield* Effect.forEach(all("languageModel"), fencedLanguageModel),
    voiceActivity: best === undefined ? undefined : fencedVoiceActivity(best)
  }
  yield* requireCapabilities(providers, options.required ?? callCapabilities)
  return providers
})

/**
 * Loads the plugins that `SVC_PLUGINS` (comma-separated packages or paths, in the order of preference) or else
 * `svc.config.json` names, and runs them, fenced, for as long as the layer lives. Whatever is wrong is a
 * {@link PluginError} with one line for the operator, and then nothing of any plugin is left running.
 */
export const layer = (options: LoaderOptions = {}): Layer.Layer<Providers, PluginError> =>
  Layer.scoped(
    Providers,
    Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      return yield* load(options).pipe(
        Scope.extend(scope),
        // At once, and not when whoever builds this layer closes its own scope.
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
