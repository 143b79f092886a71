import { HttpApi, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { WorkspaceErrorBody } from "./WorkspaceError.ts"

/** Where the workspace API is, below the server's address (spec 4.7). */
export const workspacePath = "/api/workspace/v1"

/** Workspace keys as `Authorization: Bearer svc_wsp_live_…` (spec 5). */
export class WorkspaceAuthorization extends HttpApiMiddleware.Tag<WorkspaceAuthorization>()(
  "@svc/api/WorkspaceAuthorization",
  {
    security: {
      bearer: HttpApiSecurity.annotate(
        HttpApiSecurity.bearer,
        OpenApi.Description,
        "A workspace key, which begins with `svc_wsp_live_`."
      )
    }
  }
) {}

const about = `Bookings of a workspace. This version has no endpoints yet: booking customers follow.

A workspace key goes in \`Authorization: Bearer svc_wsp_live_…\`. Every error has the body of the schema \`Error\`; its \`meta.request_id\` is the \`X-Request-Id\` header of the answer.`

/** The workspace API, `{workspace_url}/api/workspace/v1` (spec part B). Paths of its endpoints begin after that. */
export const WorkspaceApi = HttpApi.make("workspace")
  .middleware(WorkspaceAuthorization)
  .annotate(HttpApi.AdditionalSchemas, [WorkspaceErrorBody])
  .annotate(OpenApi.Title, "Svc workspace API")
  .annotate(OpenApi.Description, about)
  .annotate(OpenApi.Version, "2026-11-01")
