import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Usage } from "@svc/billing/Usage"
import { Effect } from "effect"
import { OutboundCalls } from "../live/OutboundCalls.ts"
import { Recordings } from "../recording/Recordings.ts"
import { Calls } from "./Calls.ts"
import { DebugLinks } from "./DebugLinks.ts"

/** `/v1/calls`. */
export const CallsHttp = Handlers.group(
  VoiceApi,
  "calls",
  Effect.gen(function* () {
    const calls = yield* Calls
    const debugLinks = yield* DebugLinks
    const usage = yield* Usage
    const recordings = yield* Recordings
    const outbound = yield* OutboundCalls
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => calls.list(project, urlParams)),
      summary: ({ urlParams }) =>
        Effect.gen(function* () {
          const { org } = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return yield* usage.summary({ org_id: org.id, project_id: project.id }, urlParams)
        }),
      place: ({ payload }) =>
        Effect.gen(function* () {
          const { org } = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return yield* outbound.place({ org, project }, payload)
        }),
      get: ({ path }) => Effect.flatMap(CurrentProject, (project) => calls.get(project, path.callId)),
      status: ({ path }) => Effect.flatMap(CurrentProject, (project) => calls.state(project, path.callId)),
      debugLink: ({ path }) =>
        Effect.gen(function* () {
          const { scope } = yield* CurrentPrincipal
          return yield* debugLinks.of(yield* CurrentProject, path.callId, scope)
        }),
      revokeDebugLinks: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) => debugLinks.revoke(project, path.callId)),
      recording: ({ path, urlParams }) =>
        Effect.flatMap(CurrentProject, (project) => recordings.link(project, path.callId, urlParams.expires_in)),
      end: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(calls.end(project, path.callId), (call_id) => ({ success: true as const, call_id }))
        ),
      transfer: ({ path, payload: { destination } }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(calls.transfer(project, path.callId, destination), { success: true as const, destination })
        ),
      gather: ({ path, payload }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(calls.gather(project, path.callId, payload), (call_id) => ({ message: "Gather started", call_id }))
        )
    }
  })
)
