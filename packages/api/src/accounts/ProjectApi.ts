import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { BadRequest, ProjectNotFound, ValidationError } from "../VoiceError.ts"
import { ApiKeyNotFound, CannotRevokeCurrentKey, CreatedProjectKey, ProjectKey, ProjectKeyCreate } from "./ApiKey.ts"
import { OffsetPage, pageFields } from "./OffsetPage.ts"
import { Project, ProjectUpdate } from "./Project.ts"

/** `/v1/project`: the key's own project, or the one that an org key names in `X-Project-Id`. */
export const ProjectApi = HttpApiGroup.make("project")
  .annotateContext(
    OpenApi.annotations({
      title: "Project",
      description: "The key's own project, or the one that an organization key names in `X-Project-Id`."
    })
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/project")
      .annotateContext(OpenApi.annotations({ summary: "Get the project" }))
      .addSuccess(Project)
      .addError(ProjectNotFound.wire)
  )
  .add(
    HttpApiEndpoint.patch("update", "/v1/project")
      .annotateContext(
        OpenApi.annotations({
          summary: "Change the project",
          description: "Fields that are left out stay; null removes the description."
        })
      )
      .setPayload(ProjectUpdate)
      .addSuccess(Project)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
      .addError(ProjectNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/project/api-keys")
      .annotateContext(
        OpenApi.annotations({
          summary: "List the project's keys",
          description: "Revoked ones included. Needs a `full` key or an organization key."
        })
      )
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ api_keys: Schema.Array(ProjectKey), ...pageFields }))
      .addError(ValidationError.wire)
      .annotate(AccessRule, AccessRule.fullKeyOnly)
  )
  .add(
    HttpApiEndpoint.post("createKey", "/v1/project/api-keys")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a key of the project",
          description: "`key` is shown only here. A `read` key may only GET."
        })
      )
      .setPayload(ProjectKeyCreate)
      .addSuccess(CreatedProjectKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeKey", "/v1/project/api-keys/:keyId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Revoke a key of the project",
          description: "The key fails at once. It cannot revoke itself."
        })
      )
      .setPath(Schema.Struct({ keyId: AnyId }))
      .addError(ApiKeyNotFound.wire)
      .addError(CannotRevokeCurrentKey.wire)
      .annotate(AccessRule, AccessRule.creditsExempt)
  )
