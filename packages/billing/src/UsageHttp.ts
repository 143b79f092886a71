import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Usage } from "./Usage.ts"

/** Handler of `/v1/usage`. */
export const UsageHttp: Layer.Layer<never, never, Usage | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "usage",
  Effect.map(Usage, (usage) => ({
    get: ({ urlParams }) =>
      Effect.flatMap(CurrentPrincipal, ({ org, project }) =>
        usage.report({ org_id: org.id, project_id: project?.id ?? null }, urlParams)
      )
  }))
)
