import { createHash, createHmac } from "node:crypto"
import type { KeyScope } from "@svc/api/accounts/ApiKey"
import { type CallNotFound, DebugTokenNotFound } from "@svc/api/calls/Call"
import type { PrincipalProject } from "@svc/api/Principal"
import { Projects } from "@svc/auth/Projects"
import { type ConfigError, Context, Effect, Layer, Option, PubSub, type Queue, type Scope } from "effect"
import { RecordingsRepo } from "../recording/RecordingsRepo.ts"
import { retention } from "../recording/RetentionWorker.ts"
import { Calls } from "./Calls.ts"
import { type DebugCall, type DebugLink, DebugLinksRepo } from "./DebugLinksRepo.ts"

/**
 * Links to the debug pages of calls, which need no key. A link works for as long as recordings are kept, until it is
 * revoked or its project is deleted.
 */
export class DebugLinks extends Context.Tag("@svc/call-engine/DebugLinks")<
  DebugLinks,
  {
    /**
     * The link to a call's page for keys of this scope, the same until it is revoked; `url` is a path of this server.
     */
    readonly of: (
      project: PrincipalProject,
      callId: string,
      scope: KeyScope
    ) => Effect.Effect<{ readonly debug_token: string; readonly url: string }, CallNotFound | DebugTokenNotFound>
    /** Ends all links of a call, and returns how many there were. */
    readonly revoke: (
      project: PrincipalProject,
      callId: string
    ) => Effect.Effect<{ readonly revoked: number }, CallNotFound>
    readonly find: (token: string) => Effect.Effect<DebugLink, DebugTokenNotFound>
    /** The ids of the call's links that work. */
    readonly openLinks: (call: DebugCall) => Effect.Effect<ReadonlySet<number>>
    /** A text that changes with the view. */
    readonly version: (call: DebugCall) => Effect.Effect<string>
    /** The numeric ids of calls whose links are revoked on this node from now on. */
    readonly revocations: Effect.Effect<Queue.Dequeue<number>, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<
    DebugLinks,
    ConfigError.ConfigError,
    Calls | DebugLinksRepo | RecordingsRepo | Projects
  > = Layer.effect(
    DebugLinks,
    Effect.gen(function* () {
      const calls = yield* Calls
      const repo = yield* DebugLinksRepo
      const projects = yield* Projects
      const secret = yield* Effect.flatMap(RecordingsRepo, ({ secret }) => secret("debug-links"))
      const { kept } = yield* retention
      const revocations = yield* PubSub.unbounded<number>()
      const missing = () => new DebugTokenNotFound()
      const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")

      const isDeleted = (projectId: number) =>
        Effect.map(projects.deletedAmong([projectId]), (deleted) => deleted.length > 0)

      /** Tokens are derived, not stored, so that the same link can be given again. 256 bits. */
      const open = (call_id: number, scope: KeyScope): Effect.Effect<string> =>
        Effect.gen(function* () {
          const generation = yield* repo.generation(call_id)
          const token = createHmac("sha256", secret).update(`${call_id}\n${scope}\n${generation}`).digest("hex")
          // False: the links were revoked since the generation was read.
          return (yield* repo.open({ call_id, scope, hash: hashOf(token) })) ? token : yield* open(call_id, scope)
        })

      return {
        of: Effect.fn("DebugLinks.of")(function* (project, callId, scope) {
          const { call_id } = yield* calls.state(project, callId)
          const id = yield* repo.callOf(call_id, kept)
          if (Option.isNone(id)) return yield* missing()
          const debug_token = yield* open(id.value, scope)
          return { debug_token, url: `/debug/calls/${debug_token}` }
        }),
        revoke: Effect.fn("DebugLinks.revoke")(function* (project, callId) {
          const { call_id } = yield* calls.state(project, callId)
          const ended = yield* repo.revokeAll(call_id)
          yield* PubSub.publishAll(revocations, new Set(ended))
          return { revoked: ended.length }
        }),
        find: Effect.fn("DebugLinks.find")(function* (token) {
          const link = yield* repo.find(hashOf(token), kept)
          if (Option.isNone(link) || (yield* isDeleted(link.value.call.project_id))) return yield* missing()
          return link.value
        }),
        openLinks: ({ id, project_id }) =>
          Effect.flatMap(isDeleted(project_id), (deleted) =>
            deleted ? Effect.succeed(new Set<number>()) : Effect.map(repo.openLinks(id, kept), (ids) => new Set(ids))
          ),
        version: ({ id }) => repo.version(id),
        revocations: PubSub.subscribe(revocations)
      }
    })
  )
}
