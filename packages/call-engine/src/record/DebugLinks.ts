import { type Call, type CallNotFound, DebugTokenNotFound } from "@svc/api/calls/Call"
import type { PrincipalProject } from "@svc/api/Principal"
import { type CallTimeline, timelineOf } from "@svc/conversation/CallTimeline"
import { type ConfigError, Context, Effect, Layer, Option } from "effect"
import type { ServerRequest } from "../agent-server/ServerRequest.ts"
import { retention } from "../recording/RetentionWorker.ts"
import { Calls } from "./Calls.ts"
import { DebugRepo } from "./DebugRepo.ts"
import { JournalRepo } from "./JournalRepo.ts"
import { ServerRequestsRepo } from "./ServerRequestsRepo.ts"

/** The content of a debug page. `timeline` is undefined for a call that never reached its agent. */
export interface DebugView {
  readonly call: Call
  readonly timeline: CallTimeline | undefined
  /** Oldest first. */
  readonly serverRequests: ReadonlyArray<ServerRequest>
}

/** Links to the debug pages of calls, which need no key and work for as long as recordings are kept. */
export class DebugLinks extends Context.Tag("@svc/call-engine/DebugLinks")<
  DebugLinks,
  {
    /** The link to a call's page; `url` is a path of this server. */
    readonly of: (
      project: PrincipalProject,
      callId: string
    ) => Effect.Effect<{ readonly debug_token: string; readonly url: string }, CallNotFound | DebugTokenNotFound>
    /** The page's content as of now. */
    readonly view: (token: string) => Effect.Effect<DebugView, DebugTokenNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    DebugLinks,
    ConfigError.ConfigError,
    Calls | JournalRepo | ServerRequestsRepo | DebugRepo
  > = Layer.effect(
    DebugLinks,
    Effect.gen(function* () {
      const calls = yield* Calls
      const journal = yield* JournalRepo
      const serverRequests = yield* ServerRequestsRepo
      const tokens = yield* DebugRepo
      const { kept } = yield* retention
      const missing = () => new DebugTokenNotFound()
      return {
        of: Effect.fn("DebugLinks.of")(function* (project, callId) {
          const { call_id } = yield* calls.state(project, callId)
          const debug_token = yield* Option.match(yield* tokens.tokenOf(call_id, kept), {
            onNone: () => Effect.fail(missing()),
            onSome: Effect.succeed
          })
          return { debug_token, url: `/debug/calls/${debug_token}` }
        }),
        view: Effect.fn("DebugLinks.view")(function* (token) {
          const owner = yield* Effect.mapError(yield* tokens.callOf(token, kept), missing)
          const call = yield* Effect.mapError(calls.get({ id: owner.project_id }, owner.public_id), missing)
          const [rows, requests] = yield* Effect.all([journal.ofCall(owner.id), serverRequests.ofCall(owner.id)])
          return { call, timeline: timelineOf(rows), serverRequests: requests }
        })
      }
    })
  )
}
