import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
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

/** `/v1/org`: the organization, its keys, and those of its workspace (spec 4.1; decisions §2.11, §2.12). */
export const OrganizationApi = HttpApiGroup.make("organization")
  .add(HttpApiEndpoint.get("get", "/v1/org").addSuccess(OrganizationInfo))
  .add(
    HttpApiEndpoint.get("listKeys", "/v1/org/api-keys")
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ api_keys: Schema.Array(OrgKey), ...pageFields }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("createKey", "/v1/org/api-keys")
      .setPayload(OrgKeyCreate)
      .addSuccess(CreatedOrgKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeKey", "/v1/org/api-keys/:keyId")
      .setPath(onKey)
      .addError(ApiKeyNotFound.wire)
      .addError(CannotRevokeCurrentKey.wire)
      .annotate(AccessRule, AccessRule.orgOnlyCreditsExempt)
  )
  .add(
    HttpApiEndpoint.get("listWorkspaceKeys", "/v1/org/workspace-keys")
      .setUrlParams(OffsetPage)
      .addSuccess(Schema.Struct({ workspace_keys: Schema.Array(WorkspaceKey), ...pageFields }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("createWorkspaceKey", "/v1/org/workspace-keys")
      .setPayload(WorkspaceKeyCreate)
      .addSuccess(CreatedWorkspaceKey, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.del("revokeWorkspaceKey", "/v1/org/workspace-keys/:keyId")
      .setPath(onKey)
      .addError(ApiKeyNotFound.wire)
      .annotate(AccessRule, AccessRule.orgOnlyCreditsExempt)
  )
  .annotate(AccessRule, AccessRule.orgOnly)
