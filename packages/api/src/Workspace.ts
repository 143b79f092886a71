import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import type { WorkspaceScope } from "./accounts/ApiKey.ts"
import type { Principal } from "./Principal.ts"
import { InvalidApiKey } from "./WorkspaceError.ts"

/** Common parts of the endpoints of the workspace API: principal, scopes and the envelopes of responses. */

/** Where the workspace API is, below the server's address. */
export const workspacePath = "/api/workspace/v1"

/** Who makes a request to the workspace API: a key of an organization, without a project. */
export interface WorkspacePrincipal {
  readonly kind: "workspace"
  readonly key_id: number
  readonly scopes: ReadonlyArray<WorkspaceScope>
  readonly org: Principal["org"]
}

/** The principal of the current request to the workspace API; a request service. */
export class CurrentWorkspace extends Context.Tag("@svc/api/CurrentWorkspace")<
  CurrentWorkspace,
  WorkspacePrincipal
>() {}

/** Workspace keys as `Authorization: Bearer svc_wsp_live_…`. The one implementation is the server's. */
export class WorkspaceAuthorization extends HttpApiMiddleware.Tag<WorkspaceAuthorization>()(
  "@svc/api/WorkspaceAuthorization",
  {
    failure: InvalidApiKey.wire,
    provides: CurrentWorkspace,
    security: {
      bearer: HttpApiSecurity.annotate(
        HttpApiSecurity.bearer,
        OpenApi.Description,
        "A workspace key, which begins with `svc_wsp_live_`."
      )
    }
  }
) {}

/** The scope that the key needs: an annotation that each endpoint of the workspace API has. */
export class RequiredScope extends Context.Tag("@svc/api/RequiredScope")<RequiredScope, WorkspaceScope>() {}

const request_id = Schema.String.annotations({ description: "The same as the `X-Request-Id` header." })

/** A success: `{ data, meta: { request_id } }`. Handlers leave `meta` to the server. */
export const Reply = <Data extends Schema.Schema.Any>(data: Data) =>
  Schema.Struct({ data, meta: Schema.Struct({ request_id }) })

/** A page of a list: `{ data: […], meta: { request_id, next_cursor } }`. */
export const Page = <Item extends Schema.Schema.Any>(item: Item) =>
  Schema.Struct({
    data: Schema.Array(item),
    meta: Schema.Struct({
      request_id,
      next_cursor: Schema.NullOr(Schema.String).annotations({
        description: "`after` of the next page; null on the last."
      })
    })
  })
