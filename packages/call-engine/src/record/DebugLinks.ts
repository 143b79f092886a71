import { type Call, type CallNotFound, DebugTokenNotFound } from "@svc/api/calls/Call"
import type { PrincipalProject } from "@svc/api/Principal"
import { type CallStory, storyOf } from "@svc/conversation/CallStory"
import { type ConfigError, Context, Effect, Layer, Option } from "effect"
import type { CallbackExchange } from "../agent-server/CallbackExchange.ts"
import { retention } from "../recording/RetentionWorker.ts"
import { Calls } from "./Calls.ts"
import { CallsRepo } from "./CallsRepo.ts"
import { DebugRepo } from "./DebugRepo.ts"

/** What a debug page shows of a call. `story` is missing for a call that never reached its agent. */
export interface DebugView {
  readonly call: Call
  readonly story: CallStory | undefined
  /** What its agent's server was asked and told, the oldest first. */
  readonly exchanges: ReadonlyArray<CallbackExchange>
}

/**
 * Links by which a call can be looked into without a key (decisions §4.9), for as long as recordings are kept.
 */
export class DebugLinks extends Context.Tag("@svc/call-engine/DebugLinks")<
  DebugLinks,
  {
    /** The link of a call: `url` is a path of this server. */
    readonly of: (
      project: PrincipalProject,
      callId: string
    ) => Effect.Effect<{ readonly debug_token: string; readonly url: string }, CallNotFound | DebugTokenNotFound>
    /** What the link leads to, as it is now. */
    readonly view: (token: string) => Effect.Effect<DebugView, DebugTokenNotFound>
  }
>() {
  static readonly layer: Layer.Layer<DebugLinks, ConfigError.ConfigError, Calls | CallsRepo | DebugRepo> = Layer.effect(
    DebugLinks,
    Effect.gen(function* () {
      const calls = yield* Calls
      const repo = yield* CallsRepo
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
          const [story, exchanges] = yield* Effect.all([repo.journal(owner.id), tokens.exchanges(owner.id)])
          return { call, story: storyOf(story), exchanges }
        })
      }
    })
  )
}
