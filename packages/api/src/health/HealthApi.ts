import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { AccessRule, Tier } from "../Principal.ts"

/** `/v1/health` (spec 2.10, 4.6): the key works, and whose it is. */
export const HealthApi = HttpApiGroup.make("health").add(
  HttpApiEndpoint.get("get", "/v1/health")
    .addSuccess(
      Schema.Struct({
        status: Schema.Literal("ok"),
        tier: Tier,
        project_id: Schema.NullOr(Schema.Int),
        org_id: Schema.Int
      }).annotations({ identifier: "Health" })
    )
    .annotate(AccessRule, AccessRule.projectOptional)
)
