import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import { pick } from "@svc/api/EntityFields"
import {
  KnowledgeBase,
  type KnowledgeBaseCreate,
  KnowledgeBaseNotFound,
  type KnowledgeBaseUpdate
} from "@svc/api/knowledge/KnowledgeBase"
import type { SourceType } from "@svc/api/knowledge/KnowledgeBaseFields"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { BadRequest, ValidationError } from "@svc/api/VoiceError"
import { Context, Effect, Layer, Option, Struct } from "effect"
import { type Given, type KnowledgeBaseRow, KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { type NewPassages, passagesOfEntries, passagesOfText } from "./NewPassages.ts"
import { PassagesRepo } from "./PassagesRepo.ts"

const wireKeys = Struct.keys(Struct.omit(KnowledgeBase.fields, "content", "entries"))

/** A base as lists show it. */
const toSummary = (row: KnowledgeBaseRow): KnowledgeBase =>
  pick(
    {
      ...row,
      last_refreshed_at: row.last_refreshed_at?.toISOString() ?? null,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString()
    },
    wireKeys
  )

const toKnowledgeBase = (row: KnowledgeBaseRow, { content, entries }: Given): KnowledgeBase => ({
  ...toSummary(row),
  ...(content === null ? {} : { content }),
  ...(entries === null ? {} : { entries })
})

/** The fields of which a body has one at most. */
const sources = ["content", "entries"] as const

type SourceFields = Pick<KnowledgeBaseUpdate, (typeof sources)[number]>

/** What a body makes the base from; undefined when it has no such field. */
interface NewSource extends NewPassages {
  readonly type: SourceType
  readonly given: Given
}

const sourceOf = Effect.fnUntraced(function* (body: SourceFields) {
  const present = sources.filter((field) => body[field] !== undefined)
  if (present.length > 1) {
    const message = `only one of ${sources.join(", ")} may be given`
    return yield* new ValidationError({
      message,
      details: Object.fromEntries(present.map((field) => [field, message]))
    })
  }
  const made =
    (type: SourceType, given: Given) =>
    (passages: NewPassages): NewSource => ({ ...passages, type, given })
  const { content, entries } = body
  if (content !== undefined) {
    return yield* Effect.map(passagesOfText(content), made("text", { content, entries: null }))
  }
  if (entries !== undefined) {
    return yield* Effect.map(passagesOfEntries(entries), made("qa", { content: null, entries }))
  }
  return undefined
})

/**
 * The knowledge bases of a project (docs/reference/knowledge.md). What a base is made from is cut into passages, which
 * are what agents search. An unknown or malformed id, or one of another project, is the same `KnowledgeBaseNotFound`.
 */
export class Knowledge extends Context.Tag("@svc/knowledge/Knowledge")<
  Knowledge,
  {
    /** Newest first, without what they were made from; `after` is the public or numeric id of the last one seen. */
    readonly list: (
      project: PrincipalProject,
      query: { readonly limit: number; readonly after?: string | undefined }
    ) => Effect.Effect<
      { readonly knowledge_bases: ReadonlyArray<KnowledgeBase>; readonly next_cursor: string | null },
      ValidationError
    >
    readonly get: (project: PrincipalProject, id: string) => Effect.Effect<KnowledgeBase, KnowledgeBaseNotFound>
    readonly create: (
      owner: ProjectPrincipal,
      body: KnowledgeBaseCreate
    ) => Effect.Effect<KnowledgeBase, ValidationError>
    /** Changes the given fields; at least one is required. */
    readonly update: (
      project: PrincipalProject,
      id: string,
      body: KnowledgeBaseUpdate
    ) => Effect.Effect<KnowledgeBase, KnowledgeBaseNotFound | ValidationError | BadRequest>
    /** Deletes the base with its passages; agents no longer have it. */
    readonly remove: (project: PrincipalProject, id: string) => Effect.Effect<void, KnowledgeBaseNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    Knowledge,
    never,
    Agents | KnowledgeBasesRepo | PassagesRepo | SqlClient.SqlClient
  > = Layer.effect(
    Knowledge,
    Effect.gen(function* () {
      const repo = yield* KnowledgeBasesRepo
      const passages = yield* PassagesRepo
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient

      const orNotFound = <A>(row: Option.Option<A>): Effect.Effect<A, KnowledgeBaseNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new KnowledgeBaseNotFound())

      const insert = Effect.fnUntraced(function* (
        owner: ProjectPrincipal,
        body: KnowledgeBaseCreate,
        source: NewSource
      ) {
        const row = yield* repo.insert(
          {
            org_id: owner.org.id,
            project_id: owner.project.id,
            name: body.name,
            description: body.description,
            source_type: source.type,
            source_url: null,
            entry_count: source.passages.length,
            entries_truncated: source.truncated,
            status: "ready",
            auto_refresh_hours: null
          },
          source.given
        )
        yield* passages.replace(row, source.passages)
        return toKnowledgeBase(row, source.given)
      }, atomically(sql))

      const change = Effect.fnUntraced(function* (
        project: PrincipalProject,
        id: string,
        body: KnowledgeBaseUpdate,
        source: NewSource | undefined
      ) {
        const row = yield* Effect.flatMap(repo.lock(project.id, id), orNotFound)
        const to = {
          ...row,
          name: body.name ?? row.name,
          ...(body.description === undefined ? {} : { description: body.description })
        }
        if (source === undefined) return yield* repo.change(row.id, to, undefined)
        yield* passages.replace(row, source.passages)
        const {
          given,
          passages: { length: entry_count },
          truncated: entries_truncated,
          type: source_type
        } = source
        const ready = { status: "ready", last_error: null, consecutive_failures: 0, last_refreshed_at: null } as const
        const made = { source_type, source_url: null, auto_refresh_hours: null, entry_count, entries_truncated }
        return yield* repo.change(row.id, { ...to, ...ready, ...made }, given)
      }, atomically(sql))

      const get = Effect.fn("Knowledge.get")(function* (project: PrincipalProject, id: string) {
        const row = yield* Effect.flatMap(repo.find(project.id, id), orNotFound)
        return toKnowledgeBase(row, row)
      })

      return {
        list: Effect.fn("Knowledge.list")(function* (project, query) {
          let before: number | undefined
          if (query.after !== undefined) {
            const cursor = yield* repo.known(project.id, query.after)
            if (Option.isNone(cursor)) {
              return yield* ValidationError.field("after", "after must be the id of a knowledge base of this project")
            }
            before = cursor.value
          }
          const rows = yield* repo.page({ project_id: project.id, before, limit: query.limit + 1 })
          const page = rows.slice(0, query.limit)
          return {
            knowledge_bases: page.map(toSummary),
            next_cursor: rows.length > query.limit ? (page.at(-1)?.public_id ?? null) : null
          }
        }),
        get,
        create: Effect.fn("Knowledge.create")(function* (owner, body) {
          const source = yield* sourceOf(body)
          if (source === undefined) {
            return yield* ValidationError.field("content", `one of ${sources.join(", ")} is required.`)
          }
          return yield* insert(owner, body, source)
        }),
        update: Effect.fn("Knowledge.update")(function* (project, id, body) {
          if (Object.values(body).every((value) => value === undefined)) {
            return yield* new BadRequest({ message: "No valid fields to update" })
          }
          // Before the work of cutting, and again under the lock.
          yield* get(project, id)
          yield* change(project, id, body, yield* sourceOf(body))
          return yield* get(project, id)
        }),
        remove: Effect.fn("Knowledge.remove")(function* (project, id) {
          const { id: baseId } = yield* Effect.flatMap(repo.lockForDeletion(project.id, id), orNotFound)
          yield* repo.remove(baseId)
          yield* agents.detachKnowledgeBase(baseId)
          yield* passages.remove([baseId])
        }, atomically(sql))
      }
    })
  )
}

/** In one transaction. */
const atomically =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.catchTag(sql.withTransaction(work), "SqlError", Effect.die)
