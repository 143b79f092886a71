import { HttpApi, OpenApi } from "@effect/platform"
import { BookingCustomersApi } from "./bookings/BookingCustomersApi.ts"
import { WorkspaceAuthorization } from "./Workspace.ts"
import { AuthRateLimited, Internal, RateLimited, WorkspaceErrorBody } from "./WorkspaceError.ts"

const about = `Booking customers of an organization, for its own programs. A workspace key goes in \`Authorization: Bearer svc_wsp_live_…\`; each endpoint asks one scope of it, and no scope includes another.

Every success is \`{ data, meta }\`, every error \`{ error, meta }\` with a \`code\` for programs and a \`message\` for people. \`meta.request_id\` is the \`X-Request-Id\` header of the answer. Lists have \`limit\` and \`after\`: give \`meta.next_cursor\` of one page as \`after\` of the next, until it is null.

A POST, PATCH or DELETE with an \`Idempotency-Key\` (1 to 128 characters) takes effect once: the same request with the same key gets the first answer again for 24 hours, with \`Idempotency-Replayed: true\`.

Times are ISO 8601 in UTC. Fields and query parameters that are not known are ignored. \`INTERNAL\` comes with status 503 in place of 500 while the server stops or its database is away: try again then.`

/** The workspace API, `{workspace_url}/api/workspace/v1`. Paths of its endpoints begin after that. */
export const WorkspaceApi = HttpApi.make("workspace")
  .add(BookingCustomersApi)
  .addError(Internal.wire)
  .addError(RateLimited.wire)
  .addError(AuthRateLimited.wire)
  .middleware(WorkspaceAuthorization)
  .annotate(HttpApi.AdditionalSchemas, [WorkspaceErrorBody])
  .annotate(OpenApi.Title, "Svc workspace API")
  .annotate(OpenApi.Description, about)
  .annotate(OpenApi.Version, "2026-11-01")
