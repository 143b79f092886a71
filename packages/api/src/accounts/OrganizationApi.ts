import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { ValidationError } from "../VoiceError.ts"
import {
  ApiKeyNotFound,
  CannotRevokeCurrentKey,
  CreatedOrgKey,
  CreatedWorkspaceKey,
  OrgKey,
  OrgKeyCreate,
  WorkspaceKey,
  WorkspaceKeyCreate
} from "./ApiKey.ts"
import { OffsetPage, pageFields } from "./OffsetPage.ts"
import { OrganizationInfo } from "./Organization.ts"

const onKey = Schema.Struct({ keyId: AnyId })

/** `/v1/org`: the organization, its keys, and those of its workspace. */
export const OrganizationApi = HttpApiGroup.make("organization")
  .annotateContext(
    OpenApi.annotations({
      title: "Organization",
      description: "The organization of an organization key, its keys, and those of its workspace."
    })
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/org")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get the organization",
          description: "With its tier, balance and limit of calls at once."
        })
      )
      .addSuccess(OrganizationInfo)
  )
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/org/api-keys")
      .annotateContext(
        OpenApi.annotations({ summary: "List organization keys", description: "Those that are not revoked." })
      )
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ api_keys: Schema.Array(OrgKey), ...pageFields }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("createKey", "/v1/org/api-keys")
      .annotateContext(
        OpenApi.annotations({ summary: "Create an organization key", description: "`key` is shown only here." })
      )
      .setPayload(OrgKeyCreate)
      .addSuccess(CreatedOrgKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeKey", "/v1/org/api-keys/:keyId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Revoke an organization key",
          description: "The key fails at once. It cannot revoke itself."
        })
      )
      .setPath(onKey)
      .addError(ApiKeyNotFound.wire)
      .addError(CannotRevokeCurrentKey.wire)
      .annotate(AccessRule, AccessRule.orgOnlyCreditsExempt)
  )
  .add(
    HttpApiEndpoint.get("listWorkspaceKeys", "/v1/org/workspace-keys")
      .annotateContext(
        OpenApi.annotations({
          summary: "List workspace keys",
          description: "Keys of the workspace API, revoked ones included."
        })
      )
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ workspace_keys: Schema.Array(WorkspaceKey), ...pageFields }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("createWorkspaceKey", "/v1/org/workspace-keys")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a workspace key",
          description: "`key` is shown only here. Scopes do not include each other. From `expires_at` on the key fails."
        })
      )
      .setPayload(WorkspaceKeyCreate)
      .addSuccess(CreatedWorkspaceKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeWorkspaceKey", "/v1/org/workspace-keys/:keyId")
      .annotateContext(
        OpenApi.annotations({ summary: "Revoke a workspace key", description: "The key fails at once." })
      )
      .setPath(onKey)
      .addError(ApiKeyNotFound.wire)
      .annotate(AccessRule, AccessRule.orgOnlyCreditsExempt)
  )
  .annotate(AccessRule, AccessRule.orgOnly)
