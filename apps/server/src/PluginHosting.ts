import { signalProcessing } from "@svc/call-engine/media/SignalProcessing"
import { RecordingsRepo } from "@svc/call-engine/recording/RecordingsRepo"
import { HostResources } from "@svc/plugin-host/host/HostResources"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Effect, Layer } from "effect"
import { httpSettings } from "./http/listening/HttpSettings.ts"

/** What plugins get from any process of ours. */
const resources = Effect.gen(function* () {
  const { baseUrl = null } = yield* httpSettings
  return { ...(yield* signalProcessing), baseUrl }
})

/** The plugins of a command. Tokens that they sign there are valid in that process only. */
export const commandPlugins = (options: PluginLoader.LoaderOptions = {}) =>
  PluginLoader.layer(options).pipe(
    Layer.provide(
      Layer.effect(
        HostResources,
        Effect.zipWith(HostResources, resources, ({ secret }, made) => ({ ...made, secret }))
      )
    )
  )

/** The plugins of a server. Their tokens are signed with a secret that all nodes of the installation share. */
export const serverPlugins = PluginLoader.layer().pipe(
  Layer.provide(
    Layer.effect(
      HostResources,
      Effect.gen(function* () {
        const { secret } = yield* RecordingsRepo
        return { ...(yield* resources), secret: yield* secret("plugin-tokens") }
      })
    ).pipe(Layer.provide(RecordingsRepo.layer))
  )
)
