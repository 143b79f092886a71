import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { BadRequest, ProjectNotFound, ValidationError } from "../VoiceError.ts"
import { ApiKeyNotFound, CannotRevokeCurrentKey, CreatedProjectKey, ProjectKey, ProjectKeyCreate } from "./ApiKey.ts"
import { OffsetPage, pageFields } from "./OffsetPage.ts"
import { Project, ProjectUpdate } from "./Project.ts"

/** `/v1/project`: the key's own project, or the one that an org key names in `X-Project-Id` (spec 4.1, decisions §2.11). */
export const ProjectApi = HttpApiGroup.make("project")
  .add(HttpApiEndpoint.get("get", "/v1/project").addSuccess(Project).addError(ProjectNotFound.wire))
  .add(
    HttpApiEndpoint.patch("update", "/v1/project")
      .setPayload(ProjectUpdate)
      .addSuccess(Project)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
      .addError(ProjectNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/project/api-keys")
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ api_keys: Schema.Array(ProjectKey), ...pageFields }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("createKey", "/v1/project/api-keys")
      .setPayload(ProjectKeyCreate)
      .addSuccess(CreatedProjectKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeKey", "/v1/project/api-keys/:keyId")
      .setPath(Schema.Struct({ keyId: AnyId }))
      .addError(ApiKeyNotFound.wire)
      .addError(CannotRevokeCurrentKey.wire)
      .annotate(AccessRule, AccessRule.creditsExempt)
  )
