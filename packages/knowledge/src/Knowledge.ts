import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import { pick, withChanges } from "@svc/api/EntityFields"
import {
  KnowledgeBase,
  type KnowledgeBaseCreate,
  KnowledgeBaseNotFound,
  KnowledgeBaseNotRefreshable,
  type KnowledgeBaseUpdate
} from "@svc/api/knowledge/KnowledgeBase"
import type { SourceType } from "@svc/api/knowledge/KnowledgeBaseFields"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { BadRequest, ValidationError } from "@svc/api/VoiceError"
import { atomically } from "@svc/database/Transaction"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer, Option, Struct } from "effect"
import { type Given, type KnowledgeBaseRow, KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { KnowledgeChanges } from "./KnowledgeChanges.ts"
import { passagesOfEntries, passagesOfText } from "./NewPassages.ts"
import type { NewPassages } from "./PassageCollection.ts"
import { PassagesRepo } from "./PassagesRepo.ts"
import { RefreshesRepo } from "./refresh/RefreshesRepo.ts"

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

/** The fields of which a body has at most one. */
const sources = ["content", "source_url", "entries"] as const

type SourceFields = Pick<KnowledgeBaseUpdate, (typeof sources)[number]>

/** What a body makes the base from: passages, or a URL that a refresh reads later. */
type NewSource =
  | { readonly type: Exclude<SourceType, "url">; readonly given: Given; readonly made: NewPassages }
  | { readonly type: "url"; readonly url: string }

const nothingGiven: Given = { content: null, entries: null }

const withoutUrl = () => ValidationError.field("auto_refresh_hours", "auto_refresh_hours needs a source_url")

/**
 * The knowledge bases of a project (docs/reference/knowledge.md). What a base is made from is cut into passages, which
 * agents search; RefreshWorker reads bases with a URL. An unknown or malformed id, or one of another project, is
 * `KnowledgeBaseNotFound`.
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
    /** Requests a refresh, by any node. Does nothing while one waits or runs. */
    readonly refresh: (
      project: PrincipalProject,
      id: string
    ) => Effect.Effect<void, KnowledgeBaseNotFound | KnowledgeBaseNotRefreshable>
    /** Deletes the base with its passages; agents no longer have it. */
    readonly remove: (project: PrincipalProject, id: string) => Effect.Effect<void, KnowledgeBaseNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    Knowledge,
    never,
    Agents | KnowledgeChanges | KnowledgeBasesRepo | PassagesRepo | RefreshesRepo | UrlSafety | SqlClient.SqlClient
  > = Layer.effect(
    Knowledge,
    Effect.gen(function* () {
      const repo = yield* KnowledgeBasesRepo
      const passages = yield* PassagesRepo
      const refreshes = yield* RefreshesRepo
      const agents = yield* Agents
      const safety = yield* UrlSafety
      const sql = yield* SqlClient.SqlClient
      const due = yield* KnowledgeChanges
      /** A transaction that may make a base due. */
      const withWork = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.zipLeft(atomically(sql)(work), due.announce)

      const orNotFound = <A>(row: Option.Option<A>): Effect.Effect<A, KnowledgeBaseNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new KnowledgeBaseNotFound())

      /** Undefined when the body has no source. */
      const sourceOf = Effect.fnUntraced(function* (body: SourceFields) {
        const present = sources.filter((field) => body[field] !== undefined)
        if (present.length > 1) {
          const message = `only one of ${sources.join(", ")} may be given`
          const details = Object.fromEntries(present.map((field) => [field, message]))
          return yield* new ValidationError({ message, details })
        }
        const { content, entries, source_url: url } = body
        if (content !== undefined) {
          const source: NewSource = {
            type: "text",
            given: { content, entries: null },
            made: yield* passagesOfText(content)
          }
          return source
        }
        if (entries !== undefined) {
          const source: NewSource = {
            type: "qa",
            given: { content: null, entries },
            made: yield* passagesOfEntries(entries)
          }
          return source
        }
        if (url === undefined) return undefined
        yield* safety.check(url, "source_url")
        const source: NewSource = { type: "url", url }
        return source
      })

      const insert = Effect.fnUntraced(function* (
        owner: ProjectPrincipal,
        body: KnowledgeBaseCreate,
        source: NewSource
      ) {
        const { auto_refresh_hours, description, name } = body
        const made = source.type === "url" ? undefined : source.made
        const given = source.type === "url" ? nothingGiven : source.given
        const row = yield* repo.insert(
          {
            org_id: owner.org.id,
            project_id: owner.project.id,
            name,
            description,
            source_type: source.type,
            source_url: source.type === "url" ? source.url : null,
            entry_count: made?.passages.length ?? 0,
            entries_truncated: made?.truncated ?? 0,
            status: "ready",
            auto_refresh_hours
          },
          given
        )
        if (made !== undefined) {
          yield* passages.replace(row, made.passages)
          return toKnowledgeBase(row, given)
        }
        yield* refreshes.request(row.id)
        return toKnowledgeBase({ ...row, status: "refreshing" }, given)
      }, withWork)

      /** Gives a locked base another source. */
      const replaceSource = Effect.fnUntraced(function* (row: KnowledgeBaseRow, source: NewSource) {
        yield* refreshes.cancel(row.id)
        const fresh = { ...row, status: "ready", last_error: null, consecutive_failures: 0 } as const
        if (source.type === "url") return { ...fresh, source_type: source.type, source_url: source.url }
        const { made, type: source_type } = source
        yield* passages.replace(row, made.passages)
        const counts = { entry_count: made.passages.length, entries_truncated: made.truncated }
        return { ...fresh, ...counts, source_type, source_url: null, auto_refresh_hours: null, last_refreshed_at: null }
      })

      const change = Effect.fnUntraced(function* (
        project: PrincipalProject,
        id: string,
        body: KnowledgeBaseUpdate,
        source: NewSource | undefined
      ) {
        const row = yield* Effect.flatMap(repo.lock(project.id, id), orNotFound)
        // An unchanged URL is not a new source: only a refresh reads it again.
        const isNew = source !== undefined && !(source.type === "url" && source.url === row.source_url)
        const based = isNew ? yield* replaceSource(row, source) : row
        const hours = body.auto_refresh_hours
        if (typeof hours === "number" && based.source_url === null) return yield* withoutUrl()
        const given = isNew ? (source.type === "url" ? nothingGiven : source.given) : undefined
        const to = {
          ...withChanges(based, Struct.pick(body, "name", "description", "auto_refresh_hours")),
          // A new schedule does not count earlier failures.
          ...(hours === undefined ? {} : { consecutive_failures: 0 })
        }
        yield* repo.change(row.id, to, given)
        if (isNew && source.type === "url") yield* refreshes.request(row.id)
        else if (hours !== undefined) yield* refreshes.schedule(row.id, hours)
      }, withWork)

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
          if (body.auto_refresh_hours !== null && source.type !== "url") return yield* withoutUrl()
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
        refresh: Effect.fn("Knowledge.refresh")(function* (project, id) {
          const { id: baseId, source_url } = yield* Effect.flatMap(repo.lock(project.id, id), orNotFound)
          if (source_url === null) return yield* new KnowledgeBaseNotRefreshable()
          yield* refreshes.request(baseId)
        }, withWork),
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
