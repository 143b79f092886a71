import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"

/** Handler of `/v1/health`: organization, project and tier of the request's key. */
export const HealthHttp: Layer.Layer<never, never, Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "health",
  Effect.succeed({
    get: () =>
      Effect.map(CurrentPrincipal, ({ org, project }) => ({
        status: "ok" as const,
        tier: org.tier,
        project_id: project?.id ?? null,
        org_id: org.id
      }))
  })
)
