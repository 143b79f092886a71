import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { ProjectNotFound, ValidationError } from "../VoiceError.ts"
import { ApiKeyNotFound, CreatedProjectKey, ProjectKey, ProjectKeyCreate } from "./ApiKey.ts"
import { OffsetPage, pageFields } from "./OffsetPage.ts"
import { OrgProject, ProjectCreate } from "./Project.ts"

const onProject = Schema.Struct({ projectId: AnyId })
const onKey = Schema.Struct({ projectId: AnyId, keyId: AnyId })

/** The projects of an organization and their keys, under one of the two paths that they have. */
const projectsUnder = <const Name extends string>(
  name: Name,
  base: "/v1/org/projects" | "/v1/projects",
  title: string
) =>
  HttpApiGroup.make(name)
    .annotateContext(OpenApi.annotations({ title, description: "The organization's projects and their keys." }))
    .add(
      HttpApiEndpoint.get("list", base)
        .annotateContext(OpenApi.annotations({ summary: "List projects" }))
        .setUrlParams(OffsetPage)
        .addSuccess(Schema.Struct({ projects: Schema.Array(OrgProject), ...pageFields }))
        .addError(ValidationError.wire)
    )
    .add(
      HttpApiEndpoint.post("create", base)
        .annotateContext(OpenApi.annotations({ summary: "Create a project" }))
        .setPayload(ProjectCreate)
        .addSuccess(OrgProject, { status: 201 })
        .addError(ValidationError.wire)
    )
    .add(
      HttpApiEndpoint.get("get", `${base}/:projectId`)
        .annotateContext(OpenApi.annotations({ summary: "Get a project", description: "By public or numeric id." }))
        .setPath(onProject)
        .addSuccess(OrgProject)
        .addError(ProjectNotFound.wire)
    )
    .add(
      HttpApiEndpoint.del("remove", `${base}/:projectId`)
        .annotateContext(
          OpenApi.annotations({
            summary: "Delete a project",
            description: "Its keys fail at once, and its agents and numbers go with it."
          })
        )
        .setPath(onProject)
        .addError(ProjectNotFound.wire)
    )
    .add(
      HttpApiEndpoint.get("listKeys", `${base}/:projectId/api-keys`)
        .annotateContext(
          OpenApi.annotations({ summary: "List a project's keys", description: "Revoked ones included." })
        )
        .setPath(onProject)
        .setUrlParams(OffsetPage)
        .addSuccess(Schema.Struct({ api_keys: Schema.Array(ProjectKey), ...pageFields }))
        .addError(ValidationError.wire)
        .addError(ProjectNotFound.wire)
    )
    .add(
      HttpApiEndpoint.post("createKey", `${base}/:projectId/api-keys`)
        .annotateContext(
          OpenApi.annotations({
            summary: "Create a key of a project",
            description: "`key` is shown only here. A `read` key may only GET."
          })
        )
        .setPath(onProject)
        .setPayload(ProjectKeyCreate)
        .addSuccess(CreatedProjectKey, { status: 201 })
        .addError(ValidationError.wire)
        .addError(ProjectNotFound.wire)
    )
    .add(
      HttpApiEndpoint.del("revokeKey", `${base}/:projectId/api-keys/:keyId`)
        .annotateContext(
          OpenApi.annotations({ summary: "Revoke a key of a project", description: "The key fails at once." })
        )
        .setPath(onKey)
        .addError(ProjectNotFound.wire)
        .addError(ApiKeyNotFound.wire)
        .annotate(AccessRule, AccessRule.orgOnlyCreditsExempt)
    )
    .annotate(AccessRule, AccessRule.orgOnly)

/** `/v1/org/projects`. See docs/reference/organizations.md. */
export const OrgProjectsApi = projectsUnder("orgProjects", "/v1/org/projects", "Projects")

/** `/v1/projects`, the second path set: the same. */
export const ProjectsApi = projectsUnder("projects", "/v1/projects", "Projects, by their other path")
