import * as Handlers from "@svc/api/Handlers"
import { CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect } from "effect"
import { Calls } from "./Calls.ts"

/** `/v1/calls`. */
export const CallsHttp = Handlers.group(
  VoiceApi,
  "calls",
  Effect.gen(function* () {
    const calls = yield* Calls
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => calls.list(project, urlParams)),
      get: ({ path }) => Effect.flatMap(CurrentProject, (project) => calls.get(project, path.callId)),
      status: ({ path }) => Effect.flatMap(CurrentProject, (project) => calls.state(project, path.callId)),
      end: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(calls.end(project, path.callId), (call_id) => ({ success: true as const, call_id }))
        )
    }
  })
)
