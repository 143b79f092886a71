import { capabilityNames } from "@svc/plugin-host/loader/PluginConfig"
import { pluginSources } from "@svc/plugin-host/loader/PluginSources"
import { type Capability, type LoaderOptions, UnknownPlugin } from "@svc/plugin-host/PluginLoader"
import type { Health } from "@svc/providers/Health"
import type { PluginError } from "@svc/providers/Plugin"
import { Providers } from "@svc/providers/Providers"
import { Console, type Context, Effect, Either } from "effect"
import { commandPlugins } from "../../PluginHosting.ts"
import { Reported } from "../../StartFailure.ts"
import { table } from "../Table.ts"
import * as Conformance from "./Conformance.ts"
import * as Probes from "./Probes.ts"
import { recorded } from "./SpeechSample.ts"

type Loaded = Context.Tag.Service<Providers>

/** Loads plugins, does something with them and stops them. None is required: that is for a server. */
const withPlugins = <A, E>(options: LoaderOptions, use: (loaded: Loaded) => Effect.Effect<A, E>) =>
  Effect.flatMap(Providers, use).pipe(Effect.provide(commandPlugins({ ...options, required: [] })))

/** The health of each provider. */
const healthOf = (loaded: Loaded): Effect.Effect<ReadonlyArray<readonly [Capability, Health]>> => {
  const { embedding, languageModel, objectStore, speechToText, telephony, textToSpeech } = loaded
  const parts: ReadonlyArray<readonly [Capability, ReadonlyArray<{ readonly health: Effect.Effect<Health> }>]> = [
    ["telephony", telephony],
    ["speechToText", speechToText],
    ["textToSpeech", textToSpeech],
    ["languageModel", languageModel],
    ["embedding", embedding === undefined ? [] : [embedding]],
    ["objectStore", objectStore === undefined ? [] : [objectStore]]
  ]
  return Effect.forEach(
    parts.flatMap(([capability, providers]) => providers.map((provider) => ({ capability, provider }))),
    ({ capability, provider }) => Effect.map(provider.health, (health) => [capability, health] as const),
    { concurrency: "unbounded" }
  )
}

/** One line of `svc plugins list`. */
interface Listed {
  readonly plugin: string | null
  readonly source: string
  readonly provides: ReadonlyArray<string>
  readonly healthy: boolean
  /** Why it is not healthy, or cannot start. */
  readonly problem: string | null
}

const listed = (source: string): Effect.Effect<Listed> =>
  withPlugins({ sources: [source] }, (loaded) =>
    Effect.map(healthOf(loaded), (parts): Listed => {
      const [plugin] = loaded.plugins
      const problems = parts.flatMap(([capability, health]) =>
        health.healthy ? [] : [`${capabilityNames[capability]}: ${health.reason}`]
      )
      return {
        plugin: plugin?.name ?? null,
        source,
        provides: (plugin?.capabilities ?? []).map((capability) => capabilityNames[capability]),
        healthy: problems.length === 0,
        problem: problems.length === 0 ? null : problems.join("; ")
      }
    })
  ).pipe(
    Effect.catchAll(({ message }) =>
      Effect.succeed({ plugin: null, source, provides: [], healthy: false, problem: message })
    )
  )

/** `svc plugins list`: each plugin by itself, so that one that cannot start does not hide the others. */
export const list = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { sources } = yield* pluginSources(process.cwd(), [])
    const plugins = yield* Effect.forEach(sources, listed)
    if (options.json) yield* Console.log(JSON.stringify({ plugins }))
    else if (plugins.length === 0) {
      yield* Console.log("No plugins: set SVC_PLUGINS, or name them in svc.config.json. See docs/plugins.md.")
    } else {
      yield* Console.log(
        table(
          plugins.map(({ healthy, plugin, problem, provides, source }) => ({
            plugin,
            works: healthy ? "yes" : "NO",
            provides: provides.length === 0 ? null : provides.join(", "),
            source,
            problem: problem ?? ""
          }))
        )
      )
    }
    if (plugins.some(({ healthy }) => !healthy)) return yield* Effect.fail(new Reported())
  })

const probesOf = (loaded: Loaded): ReadonlyArray<Probes.Probe> => {
  const { embedding, languageModel, objectStore, speechToText, telephony, textToSpeech, voiceActivity } = loaded
  const speech = Probes.speechFor(textToSpeech[0], recorded)
  return [
    ...telephony.map(Probes.telephony),
    ...speechToText.map((provider) => Probes.speechToText(provider, speech)),
    ...textToSpeech.map(Probes.textToSpeech),
    ...languageModel.map(Probes.languageModel),
    ...(voiceActivity === undefined ? [] : [Probes.voiceActivity(voiceActivity, recorded)]),
    ...(embedding === undefined ? [] : [Probes.embedding(embedding)]),
    ...(objectStore === undefined ? [] : [Probes.objectStore(objectStore)])
  ]
}

/** The result of a probe or of a conformance check. */
interface Result {
  readonly capability: string
  readonly ok: boolean
  readonly found: string
  /** Medians, in milliseconds. */
  readonly times: { readonly [what: string]: number }
}

const median = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** How long one request of a probe may take, beyond the limits of the plugin's fence. */
const probeDeadline = "60 seconds"

const probed = ({ capability, run }: Probes.Probe, times: number): Effect.Effect<Result> =>
  Effect.replicateEffect(
    Effect.timeoutFail(run, {
      duration: probeDeadline,
      onTimeout: () => new Probes.ProbeFailed({ reason: `it did not end within ${probeDeadline}` })
    }),
    times
  ).pipe(
    Effect.map((runs): Result => {
      const names = new Set(runs.flatMap((run) => Object.keys(run.times)))
      const medians = Object.fromEntries(
        [...names].map((name) => [name, median(runs.flatMap((run) => run.times[name] ?? []))])
      )
      return { capability: capabilityNames[capability], ok: true, found: runs.at(-1)?.found ?? "", times: medians }
    }),
    Effect.catchAll(({ reason }) =>
      Effect.succeed({ capability: capabilityNames[capability], ok: false, found: reason, times: {} })
    )
  )

const timesText = (times: Result["times"]): string =>
  Object.entries(times)
    .map(([what, ms]) => `${what} ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)
    .join(", ")

/**
 * The results of probes, one for each capability: one that failed with what its provider's health says, and one that
 * succeeded although the provider is not healthy as failed.
 */
const withHealth = (
  probes: ReadonlyArray<Result>,
  health: ReadonlyArray<readonly [Capability, Health]>
): ReadonlyArray<Result> =>
  probes.map((result) => {
    const [, found] =
      health.find(([capability, { healthy }]) => !healthy && capabilityNames[capability] === result.capability) ?? []
    if (found === undefined || found.healthy) return result
    if (result.ok) return { ...result, ok: false, found: found.reason }
    return result.found.includes(found.reason)
      ? result
      : { ...result, found: `${result.found}; health: ${found.reason}` }
  })

/** Whether a plugin is named by its package or its path, and not by its short name. */
const isSource = (name: string): boolean => /[/.:\\]/.test(name)

/** A short name is that of a configured plugin. Without `--dev` those of the development mode are not. */
const withAdvice = (error: UnknownPlugin, isDev: boolean): PluginError =>
  isDev
    ? error
    : new UnknownPlugin({
        plugin: error.plugin,
        reason: `${error.reason}; --dev adds those of the development mode, and the package or path of any plugin can be given instead`
      })

/** `svc plugins check <name>`: a short name, or the package or path of a plugin that need not be configured. */
export const check = (options: {
  readonly name: string
  readonly dev?: boolean
  readonly times: number
  readonly suite: boolean
  readonly json: boolean
}) =>
  withPlugins(isSource(options.name) ? { sources: [options.name] } : { only: options.name }, (loaded) =>
    Effect.gen(function* () {
      const health = yield* healthOf(loaded)
      const probes = withHealth(
        yield* Effect.forEach(probesOf(loaded), (probe) => probed(probe, options.times)),
        // The probe of a telephone network has its health.
        health.filter(([capability]) => capability !== "telephony")
      )
      const checks = options.suite
        ? yield* Effect.forEach(yield* Conformance.checksOf(loaded), ({ capability, check: { effect, name } }) =>
            Effect.map(
              Effect.either(effect),
              (result): Result => ({
                capability: capabilityNames[capability],
                ok: Either.isRight(result),
                found: Either.isRight(result) ? name : `${name}: ${result.left.reason}`,
                times: {}
              })
            )
          )
        : []
      const results = [...probes, ...checks]
      const ok = results.every((result) => result.ok)
      yield* Console.log(
        options.json
          ? JSON.stringify({ plugin: loaded.plugins[0]?.name ?? options.name, ok, results })
          : table(
              results.map(({ capability, found, ok, times }) => ({
                "": ok ? "ok" : "FAIL",
                capability,
                times: timesText(times),
                found
              }))
            )
      )
      if (!ok) return yield* Effect.fail(new Reported())
    })
  ).pipe(Effect.mapError((error) => (error instanceof UnknownPlugin ? withAdvice(error, options.dev === true) : error)))
