import * as path from "node:path"
import { CallLinksRepo } from "@svc/call-engine/links/CallLinksRepo"
import { signalProcessing } from "@svc/call-engine/media/SignalProcessing"
import { RecordingsRepo } from "@svc/call-engine/recording/RecordingsRepo"
import { dataDir } from "@svc/database/Database"
import { HostResources } from "@svc/plugin-host/host/HostResources"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Effect, Layer } from "effect"
import { httpSettings } from "./http/listening/HttpSettings.ts"

/** What plugins get from any process of ours. */
const resources = Effect.gen(function* () {
  const { baseUrl = null } = yield* httpSettings
  return { ...(yield* signalProcessing), baseUrl, pluginsDir: path.join(yield* dataDir, "plugins") }
})

/** The plugins of a command. Tokens that they sign there are valid in that process only. */
export const commandPlugins = (options: PluginLoader.LoaderOptions = {}) =>
  PluginLoader.layer(options).pipe(
    Layer.provide(
      Layer.effect(
        HostResources,
        Effect.zipWith(HostResources, resources, ({ callsLeft, linkState, secret }, made) => ({
          ...made,
          callsLeft,
          linkState,
          secret
        }))
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
        const { callsLeft, state } = yield* CallLinksRepo
        return { ...(yield* resources), callsLeft, linkState: state, secret: yield* secret("plugin-tokens") }
      })
    ).pipe(Layer.provide([RecordingsRepo.layer, CallLinksRepo.layer]))
  )
)
