import { PluginError } from "@svc/providers/Plugin"
import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import { Config, type Context, Effect } from "effect"

type Service = Context.Tag.Service<VoiceActivity>

/** The value of `SVC_VOICE_ACTIVITY` for the engine's own detector. */
const builtIn = "built-in"

interface Started {
  readonly plugin: { readonly name: string }
  readonly built: { readonly voiceActivity: Service | undefined }
}

/**
 * The voice activity to use: that of the plugin which `SVC_VOICE_ACTIVITY` names, none with `built-in`, and by default
 * that of the first plugin that has one. Fails when the named plugin is not loaded or has none.
 */
export const chosenVoiceActivity = Effect.fn("VoiceActivityChoice.choose")(function* (
  started: ReadonlyArray<Started>
): Effect.fn.Return<Service | undefined, PluginError> {
  const variable = "SVC_VOICE_ACTIVITY"
  const name = yield* Config.string(variable).pipe(
    Config.withDefault(""),
    Effect.mapError(() => new PluginError({ plugin: variable, reason: "cannot be read" }))
  )
  const available = started.filter(({ built }) => built.voiceActivity !== undefined)
  const asked = name.trim()
  if (asked === builtIn) return undefined
  if (asked === "") return available[0]?.built.voiceActivity
  const found = available.find(({ plugin }) => plugin.name === asked)
  if (found !== undefined) return found.built.voiceActivity
  const isLoaded = started.some(({ plugin }) => plugin.name === asked)
  const names = [builtIn, ...available.map(({ plugin }) => plugin.name)].join(", ")
  return yield* new PluginError({
    plugin: asked,
    reason: `${isLoaded ? "has no voice activity" : "is not loaded"}, but ${variable} names it; it can be one of ${names}`
  })
})
