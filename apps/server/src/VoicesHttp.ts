import { Voices } from "@svc/agents/Voices"
import * as Handlers from "@svc/api/Handlers"
import { VoiceApi } from "@svc/api/VoiceApi"
import { type ConfigError, Effect, type Layer } from "effect"
import { httpSettings } from "./http/HttpSettings.ts"
import { publicAddress } from "./http/PublicAddress.ts"
import { previewPath } from "./http/VoicePreviewRoutes.ts"

/** Handler of `/v1/voices` (spec 4.6). */
export const VoicesHttp: Layer.Layer<never, ConfigError.ConfigError, Voices | Handlers.HandlerRegistry> =
  Handlers.group(
    VoiceApi,
    "voices",
    Effect.gen(function* () {
      const voices = yield* Voices
      const address = publicAddress(yield* httpSettings)
      return {
        list: ({ urlParams }) =>
          Effect.sync(() => ({
            voices: voices.list(urlParams.language).map(({ gender, language, name }) => ({
              name,
              language,
              gender,
              preview_url: address + previewPath(name, language)
            }))
          }))
      }
    })
  )
