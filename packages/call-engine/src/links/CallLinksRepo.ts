import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { jsonbText } from "@svc/database/Jsonb"
import type { LinkState } from "@svc/providers/Host"
import { Context, Effect, Layer, Schema } from "effect"

/** A link with which a call can start now. */
const OpenLink = Schema.Struct({
  id: Schema.Int,
  org_id: Schema.Int,
  project_id: Schema.Int,
  agent_id: Schema.Int,
  from_number: Schema.NullOr(Schema.String),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})
export type OpenLink = typeof OpenLink.Type

/** A link before it is stored. */
export interface NewLink extends Omit<OpenLink, "id"> {
  readonly token: string
  readonly max_calls: number
  readonly expires_in: number
}

/** Tokens are stored as their SHA-256. */
const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest()

/** Tokens have this form; what does not is not looked up. */
const isToken = (text: string): boolean => /^[\w-]{32}$/.test(text)

/** SQL of `call_links`. */
export class CallLinksRepo extends Context.Tag("@svc/call-engine/CallLinksRepo")<
  CallLinksRepo,
  {
    /** Returns when the link expires. `token`: 32 characters of base64url. */
    readonly insert: (link: NewLink) => Effect.Effect<Date>
    /** The link, if a call can start with it now. */
    readonly find: (token: string) => Effect.Effect<OpenLink | undefined>
    /** The same for who needs no link; never dies. */
    readonly state: (token: string) => Effect.Effect<LinkState>
    /** How many more calls can start with it; 0 too when the database cannot be reached; never dies. */
    readonly callsLeft: (token: string) => Effect.Effect<number>
    /** At the end of the transaction that admits a call: counts the call. False when the link is closed by now. */
    readonly take: (id: number) => Effect.Effect<boolean>
    readonly deleteOfAgent: (agentId: number) => Effect.Effect<void>
    readonly deleteOfProject: (projectId: number) => Effect.Effect<void>
    /** Deletes links that expired at least an hour ago. */
    readonly deleteExpired: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<CallLinksRepo, never, SqlClient.SqlClient> = Layer.effect(
    CallLinksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isOpen = sql`expires_at > now() and calls < max_calls`
      const links = Schema.decodeUnknown(Schema.Array(OpenLink))
      const counts = Schema.decodeUnknown(Schema.Array(Schema.Struct({ calls_left: Schema.Int })))
      const expiries = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ expires_at: Schema.DateFromSelf })))

      const find = Effect.fn("CallLinksRepo.find")(function* (token: string) {
        if (!isToken(token)) return undefined
        const [link] = yield* links(
          yield* sql`
            select id::int, org_id::int, project_id::int, agent_id::int, from_number, metadata from call_links
            where token_hash = ${hashOf(token)} and ${isOpen}`
        )
        return link
      }, Effect.orDie)

      const callsLeft = Effect.fn("CallLinksRepo.callsLeft")(function* (token: string) {
        if (!isToken(token)) return 0
        const [link] = yield* counts(
          yield* sql`
            select max_calls - calls as calls_left from call_links where token_hash = ${hashOf(token)} and ${isOpen}`
        )
        return link?.calls_left ?? 0
      })

      return {
        insert: Effect.fn("CallLinksRepo.insert")(function* ({ expires_in, metadata, token, ...link }: NewLink) {
          const [{ expires_at }] = yield* expiries(
            yield* sql`
              insert into call_links (token_hash, org_id, project_id, agent_id, from_number, metadata, max_calls, expires_at)
              values (${hashOf(token)}, ${link.org_id}, ${link.project_id}, ${link.agent_id}, ${link.from_number},
                ${jsonbText(metadata)}::jsonb, ${link.max_calls}, now() + make_interval(secs => ${expires_in}))
              returning expires_at`
          )
          return expires_at
        }, Effect.orDie),
        find,
        state: (token) =>
          find(token).pipe(
            Effect.map((link): LinkState => (link === undefined ? "closed" : "open")),
            Effect.catchAllDefect((defect) =>
              Effect.as(Effect.logWarning("A call link could not be looked up", defect), "unknown" as const)
            )
          ),
        callsLeft: (token) =>
          Effect.catchAllCause(callsLeft(token), (cause) =>
            Effect.as(Effect.logWarning("The calls of a link could not be counted", cause), 0)
          ),
        take: Effect.fn("CallLinksRepo.take")(function* (id: number) {
          const taken = yield* sql`update call_links set calls = calls + 1 where id = ${id} and ${isOpen} returning 1`
          return taken.length === 1
        }, Effect.orDie),
        deleteOfAgent: (id) => sql`delete from call_links where agent_id = ${id}`.pipe(Effect.asVoid, Effect.orDie),
        deleteOfProject: (id) => sql`delete from call_links where project_id = ${id}`.pipe(Effect.asVoid, Effect.orDie),
        deleteExpired: sql`delete from call_links where expires_at < now() - interval '1 hour'`.pipe(
          Effect.asVoid,
          Effect.orDie
        )
      }
    })
  )
}
