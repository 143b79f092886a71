import * as path from "node:path"
import type { Host, LogFields } from "@svc/providers/Host"
import { Effect, FiberRef, HashMap, LogLevel, Runtime } from "effect"
import { HostResources } from "./HostResources.ts"
import { pluginMetrics } from "./PluginMetrics.ts"
import { pluginTokens } from "./PluginTokens.ts"

const isRate = (rate: number) => Number.isInteger(rate) && rate >= 8000 && rate <= 48_000

/** Detectors and resamplers loop over a rate; a wrong one would hang or crash later. */
const checkRate = (what: string, rate: number, allowed: boolean): void => {
  if (!allowed) throw new RangeError(`${what} cannot be ${String(rate)}`)
}

/** The annotation of log entries that has the plugin's name. */
const annotation = "plugin"

/** Makes the log entries of an effect show the plugin from which they come. */
export const asPlugin = (plugin: string) => Effect.annotateLogs(annotation, plugin)

/** The `Host` of one plugin. It logs with the loggers and the level of the fiber that makes it. */
export const makeHost = (plugin: string): Effect.Effect<Host> =>
  Effect.gen(function* () {
    const { baseUrl, callsLeft, linkState, makeResampler, makeVoiceActivity, pluginsDir, secret } = yield* HostResources
    const clock = yield* Effect.clock
    const runtime = yield* Effect.runtime<never>()
    const entry =
      (level: LogLevel.LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        const bare = Effect.suspend(() => Effect.logWithLevel(level, String(message)))
        Runtime.runSync(runtime)(
          Effect.suspend(() => Effect.annotateLogs(bare, { ...fields })).pipe(
            // The fields may have getters that throw. A listener of a socket must not meet an exception of its log.
            Effect.catchAllDefect(() => Effect.ignore(Effect.sandbox(bare))),
            asPlugin(plugin)
          )
        )
      }
    const log = {
      debug: entry(LogLevel.Debug),
      info: entry(LogLevel.Info),
      warning: entry(LogLevel.Warning),
      error: entry(LogLevel.Error)
    }
    return {
      baseUrl,
      folder: path.resolve(pluginsDir, plugin),
      log,
      metrics: pluginMetrics(plugin, () => log.warning("has too many metrics; further ones are not counted")),
      ...pluginTokens(plugin, secret, () => clock.unsafeCurrentTimeMillis()),
      linkState,
      callsLeft,
      makeVoiceActivity: (sampleRate) => {
        checkRate("the sample rate of a detector", sampleRate, isRate(sampleRate) && sampleRate % 8000 === 0)
        return makeVoiceActivity(sampleRate)
      },
      makeResampler: (from, to) => {
        for (const rate of [from, to]) checkRate("the sample rate of a resampler", rate, isRate(rate))
        return makeResampler(from, to)
      }
    }
  })

/** Marks the fiber, which runs nothing else, so that what an effect of a plugin logs has the plugin's name. */
export type PluginLogs = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The plugin of this fiber, as {@link asPlugin} has marked it; empty without one. */
export const currentPlugin: Effect.Effect<string> = Effect.map(Effect.logAnnotations, (annotations) => {
  const plugin = [...annotations].find(([name]) => name === annotation)?.[1]
  return typeof plugin === "string" ? plugin : ""
})

/**
 * Makes a function that runs effects of a plugin so that what they log has its name: the plugin of the fiber that runs
 * this, as {@link asPlugin} has marked it. The other annotations are those of the caller, such as the id of the call.
 */
export const pluginLogs: Effect.Effect<PluginLogs> = Effect.map(currentPlugin, (plugin) =>
  plugin === ""
    ? (effect) => effect
    : (effect) =>
        Effect.zipRight(
          FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>(annotation, plugin)),
          effect
        )
)
