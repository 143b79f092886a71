import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Billing } from "./Billing.ts"

/** Handler of `/v1/credits`. */
export const CreditsHttp: Layer.Layer<never, never, Billing | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "credits",
  Effect.map(Billing, (billing) => ({
    get: () => Effect.flatMap(CurrentPrincipal, ({ org }) => billing.creditsOf(org))
  }))
)
