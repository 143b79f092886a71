import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AccessRule, Tier } from "../Principal.ts"

/** `/v1/health`: whether a key works, and its organization and project. */
export const HealthApi = HttpApiGroup.make("health")
  .annotateContext(OpenApi.annotations({ title: "Health", description: "Whether a key works, and whose it is." }))
  .add(
    HttpApiEndpoint.get("get", "/v1/health")
      .annotateContext(
        OpenApi.annotations({
          summary: "Check a key",
          description: "The organization and tier of the key, and its project where it has one."
        })
      )
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
