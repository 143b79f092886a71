import type { Health } from "@svc/providers/Health"
import { PluginError } from "@svc/providers/Plugin"
import { type LoadedPlugin, Providers } from "@svc/providers/Providers"
import { Duration, Effect, Exit, Layer, Scope } from "effect"
import { errorSummary } from "./ErrorSummary.ts"
import { PluginFaults } from "./faults/PluginFaults.ts"
import { fencedEmbedding } from "./fence/FencedEmbedding.ts"
import { fencedLanguageModel } from "./fence/FencedLanguageModel.ts"
import { fencedObjectStore } from "./fence/FencedObjectStore.ts"
import { fencedSpeechToText } from "./fence/FencedSpeechToText.ts"
import { fencedTelephony } from "./fence/FencedTelephony.ts"
import { fencedTextToSpeech } from "./fence/FencedTextToSpeech.ts"
import { fencedVoiceActivity } from "./fence/FencedVoiceActivity.ts"
import { HasAlternative } from "./fence/ProviderCircuit.ts"
import { asPlugin } from "./host/PluginHost.ts"
import { type BuiltPlugin, buildPlugin } from "./loader/PluginBuild.ts"
import { pluginConfig } from "./loader/PluginConfig.ts"
import { type ImportedPlugin, importPlugin } from "./loader/PluginModule.ts"
import { configFile, pluginSources } from "./loader/PluginSources.ts"
import { chosenVoiceActivity } from "./loader/VoiceActivityChoice.ts"

/** A kind of provider. */
export type Capability = LoadedPlugin["capabilities"][number]

/** The capabilities that a phone call needs. */
export const callCapabilities: ReadonlyArray<Capability> = [
  "telephony",
  "speechToText",
  "textToSpeech",
  "languageModel"
]

const order: ReadonlyArray<Capability> = [...callCapabilities, "voiceActivity", "embedding", "objectStore"]

const capabilityNames: { readonly [K in Capability]: string } = {
  telephony: "telephony",
  speechToText: "speech-to-text",
  textToSpeech: "text-to-speech",
  languageModel: "language model",
  voiceActivity: "voice activity",
  embedding: "embedding",
  objectStore: "object store"
}

export interface LoaderOptions {
  /** Plugins to load when neither `SVC_PLUGINS` nor `svc.config.json` names one. None by default. */
  readonly defaults?: ReadonlyArray<string>
  /** Loading fails when one of these capabilities is missing; {@link callCapabilities} by default. */
  readonly required?: ReadonlyArray<Capability>
  /** The directory of `svc.config.json`, relative paths and packages; the working directory by default. */
  readonly directory?: string
  /** Loads these packages and paths, whatever `SVC_PLUGINS` or the file names. */
  readonly sources?: ReadonlyArray<string>
  /** Of the plugins that are named, starts only that with this short name; a failure when there is none. */
  readonly only?: string
  /** How long the import of each plugin may take, and again its start. 20 s by default. */
  readonly deadline?: Duration.DurationInput
}

const indexOfRepeated = (names: ReadonlyArray<string>): number =>
  names.findIndex((name, index) => names.indexOf(name) < index)

/** Two plugins with the same name would read the same settings. */
const refuseDuplicateNames = (plugins: ReadonlyArray<ImportedPlugin>): Effect.Effect<void, PluginError> => {
  const second = plugins[indexOfRepeated(plugins.map(({ plugin }) => plugin.name))]
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
  const second = telephony[indexOfRepeated(telephony.map(({ id }) => id))]
  if (second === undefined) return Effect.void
  const first = telephony.find(({ id }) => id === second.id)
  return new PluginError({
    plugin: second.plugin,
    reason: `its telephony id "${second.id}" is taken by plugin ${first?.plugin}; load only one of them`
  })
}

/** Fails with one line that names the capabilities that no loaded plugin provides. */
export const requireCapabilities = (
  providers: { readonly plugins: ReadonlyArray<LoadedPlugin> },
  required: ReadonlyArray<Capability>
): Effect.Effect<void, PluginError> => {
  const missing = required.filter((capability) => !providers.plugins.some((p) => p.capabilities.includes(capability)))
  if (missing.length === 0) return Effect.void
  const names = providers.plugins.map(({ name }) => name).join(", ")
  return new PluginError({
    plugin: names === "" ? "(none)" : names,
    reason: `no ${missing.map((capability) => capabilityNames[capability]).join(", no ")} plugin is loaded; add one to SVC_PLUGINS`
  })
}

interface Healthy {
  readonly health: Effect.Effect<Health>
}

interface Started extends ImportedPlugin {
  readonly built: BuiltPlugin
}

/** No configured plugin has the short name that was asked for. */
export class UnknownPlugin extends PluginError {}

const load = Effect.fn("PluginLoader.load")(function* (options: LoaderOptions) {
  const directory = options.directory ?? process.cwd()
  const deadline = Duration.decode(options.deadline ?? "20 seconds")
  const { settings, sources: named } = yield* pluginSources(directory, options.defaults ?? [])
  const sources = options.sources ?? named

  // All checks that need no running plugin come first.
  const imported = yield* Effect.forEach(sources, (source) => importPlugin(source, directory, deadline))
  yield* refuseDuplicateNames(imported)
  const { only } = options
  const plugins = only === undefined ? imported : imported.filter(({ plugin }) => plugin.name === only)
  if (only !== undefined && plugins.length === 0) {
    const names = imported.map(({ plugin }) => plugin.name).join(", ")
    const known = names === "" ? "SVC_PLUGINS and svc.config.json name none" : `the plugins that are named: ${names}`
    return yield* new UnknownPlugin({ plugin: only, reason: `no plugin has this short name; ${known}` })
  }
  const configured = yield* Effect.forEach(plugins, (one) =>
    Effect.map(pluginConfig(one.plugin, settings), (read) => ({ ...one, read }))
  )
  const unused = Object.keys(settings).filter((name) => !imported.some(({ plugin }) => plugin.name === name))
  if (unused.length > 0 && options.sources === undefined) {
    yield* Effect.logWarning(`${configFile} has settings of plugins that are not loaded: ${unused.join(", ")}`)
  }
  const started: ReadonlyArray<Started> = yield* Effect.forEach(configured, ({ plugin, read, source }) =>
    Effect.map(buildPlugin(plugin, read, deadline), (built) => ({ plugin, source, built }))
  )
  yield* refuseDuplicateTelephony(started)

  const faults = yield* PluginFaults
  /** Fences the providers of a kind. Faults of a plugin outside of any call count against the health of each. */
  const fencedOf = <S extends Healthy>(
    serviceOf: (built: BuiltPlugin) => S | undefined,
    fence: (service: S) => Effect.Effect<S>
  ): Effect.Effect<ReadonlyArray<S>, PluginError> => {
    const hasAlternative = started.filter(({ built }) => serviceOf(built) !== undefined).length > 1
    return Effect.map(
      Effect.forEach(started, ({ built, plugin }) => {
        const service = serviceOf(built)
        if (service === undefined) return Effect.succeed([])
        return Effect.suspend(() => fence(service)).pipe(
          asPlugin(plugin.name),
          Effect.provideService(HasAlternative, hasAlternative),
          Effect.map((fenced) => [{ ...fenced, health: faults.health(plugin.name, fenced.health) }]),
          Effect.catchAllDefect(
            (defect) =>
              new PluginError({
                plugin: plugin.name,
                reason: `one of its providers is invalid: ${errorSummary(defect)}`
              })
          )
        )
      }),
      (all) => all.flat()
    )
  }
  const voiceActivity = yield* chosenVoiceActivity(started)
  const providers = {
    plugins: started.map(({ built, plugin, source }) => ({
      name: plugin.name,
      source,
      capabilities: order.filter((capability) => built[capability] !== undefined)
    })),
    telephony: yield* fencedOf((built) => built.telephony, fencedTelephony),
    speechToText: yield* fencedOf((built) => built.speechToText, fencedSpeechToText),
    textToSpeech: yield* fencedOf((built) => built.textToSpeech, fencedTextToSpeech),
    languageModel: yield* fencedOf((built) => built.languageModel, fencedLanguageModel),
    voiceActivity: voiceActivity === undefined ? undefined : fencedVoiceActivity(voiceActivity),
    embedding: (yield* fencedOf((built) => built.embedding, fencedEmbedding))[0],
    objectStore: (yield* fencedOf((built) => built.objectStore, fencedObjectStore))[0]
  }
  yield* requireCapabilities(providers, options.required ?? callCapabilities)
  return providers
})

/**
 * Loads the plugins that `SVC_PLUGINS` (comma-separated packages or paths, in order of preference) or else
 * `svc.config.json` names, and runs them, fenced, until the layer's scope closes. Any failure is a {@link PluginError}
 * with one line for the operator; plugins that were started are stopped before it is returned.
 */
export const layer = (options: LoaderOptions = {}): Layer.Layer<Providers, PluginError> =>
  Layer.scoped(
    Providers,
    Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
      return yield* load(options).pipe(
        Scope.extend(scope),
        // Before the error is returned, not when the builder of this layer closes its own scope.
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
