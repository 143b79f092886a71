import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AccessRule, Tier } from "../Principal.ts"

/** An organization's balance and limits. */
export const Credits = Schema.Struct({
  /** EUR, at most 4 decimals. The holds of live calls are already deducted. */
  balance_eur: Schema.Number,
  tier: Tier,
  concurrent_call_limit: Schema.Int,
  /** No credits left: calls are rejected and writes refused. Enterprise is never paused. */
  is_paused: Schema.Boolean
}).annotations({ identifier: "Credits" })
export type Credits = typeof Credits.Type

/** `/v1/credits`. See docs/reference/billing.md. */
export const CreditsApi = HttpApiGroup.make("credits")
  .annotateContext(OpenApi.annotations({ title: "Credits", description: "What is left to spend." }))
  .add(
    HttpApiEndpoint.get("get", "/v1/credits")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get the balance",
          description: "What live calls hold is not in it."
        })
      )
      .addSuccess(Credits)
      .annotate(AccessRule, AccessRule.projectOptional)
  )
