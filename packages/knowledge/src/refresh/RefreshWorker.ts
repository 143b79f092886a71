import { SqlClient } from "@effect/sql"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Outbox } from "@svc/database/Outbox"
import { Duration, Effect, FiberSet, Layer, Option, Runtime } from "effect"
import { KnowledgeChanges } from "../KnowledgeChanges.ts"
import { cutTo } from "../PassageCutter.ts"
import { PassagesRepo } from "../PassagesRepo.ts"
import { type Claimed, RefreshesRepo } from "./RefreshesRepo.ts"
import { shownPage } from "./SourceFaults.ts"
import { type ReadSource, SourceReader } from "./SourceReader.ts"

/** Refreshes of this node at once. */
const maxAtOnce = 4
/** Failures in a row after which a base is not refreshed by itself any more. */
const maxFailures = 5
/** Attempts that may end with their process; then the refresh has failed, because its source may be the cause. */
const maxAttempts = 3
/** Most characters of `last_error`. */
const maxError = 1000
/** Problems of single pages that are named. */
const namedProblems = 3

const shorten = (text: string): string => {
  const clean = text.replaceAll("\u0000", "")
  return clean.length <= maxError ? clean : `${cutTo(clean, maxError - 1)}…`
}

/** What `last_error` says after a refresh that could not read all pages. */
const summaryOf = (problems: ReadonlyArray<string>): string | null => {
  if (problems.length === 0) return null
  const named = problems.slice(0, namedProblems).join("; ")
  const rest = problems.length - namedProblems
  return shorten(rest > 0 ? `${named}; and ${rest} more pages were not read` : named)
}

/**
 * Refreshes knowledge bases from their URLs (docs/reference/knowledge.md). Every node runs it: it claims bases that are
 * due, reads their sources, and writes each result with its event in one transaction, if the claim is still the newest. A
 * claim ends with its node, or after 20 minutes; another node then reads the source again.
 */
export const RefreshWorker: Layer.Layer<
  never,
  never,
  DueCheck | KnowledgeChanges | NodeLease | Outbox | PassagesRepo | RefreshesRepo | SourceReader | SqlClient.SqlClient
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const repo = yield* RefreshesRepo
    const passages = yield* PassagesRepo
    const source = yield* SourceReader
    const lease = yield* NodeLease
    const outbox = yield* Outbox
    const sql = yield* SqlClient.SqlClient
    const running = yield* FiberSet.make<void>()
    const due = yield* KnowledgeChanges
    const check = yield* DueCheck
    const runtime = yield* Effect.runtime<never>()

    const eventOf = ({ org_id, project_id }: Claimed, at: Date) => ({
      org_id,
      project_id,
      agent_id: null,
      call_id: null,
      timestamp: at.toISOString()
    })

    /** Runs in a transaction with the base locked, unless the claim is void. */
    const whileCurrent = (claimed: Claimed, work: (row: Claimed) => Effect.Effect<void>) =>
      Effect.flatMap(repo.lock(claimed), Option.match({ onNone: () => Effect.void, onSome: work })).pipe(
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      )

    const onSuccess = (claimed: Claimed, read: ReadSource) =>
      whileCurrent(claimed, (row) =>
        Effect.gen(function* () {
          const { added, removed, truncated } = yield* passages.replace(row, read.passages, read.keep)
          const entries_truncated = read.truncated + truncated
          const last_error = summaryOf(read.problems)
          const at = yield* repo.succeed(row.id, { truncated: entries_truncated, last_error })
          yield* outbox.append({
            ...eventOf(row, at),
            event: "knowledge_base.refreshed",
            data: { kb_id: row.public_id, entries_added: added, entries_removed: removed, entries_truncated }
          })
        })
      )

    const onFailure = (claimed: Claimed, reason: string) =>
      whileCurrent(claimed, (row) =>
        Effect.gen(function* () {
          const count = row.consecutive_failures + 1
          const error = shorten(reason)
          const at = yield* repo.fail(row.id, { last_error: error, isAutomatic: count < maxFailures })
          const { public_id: kb_id } = row
          yield* outbox.append({ ...eventOf(row, at), event: "knowledge_base.refresh_failed", data: { kb_id, error } })
          if (row.auto_refresh_hours === null || count !== maxFailures) return
          yield* outbox.append({
            ...eventOf(row, at),
            event: "knowledge_base.auto_refresh_disabled",
            data: { kb_id, reason: "consecutive_failures", count }
          })
        })
      )

    const refresh = (claimed: Claimed) =>
      claimed.attempts > maxAttempts
        ? onFailure(
            claimed,
            `The server stopped ${maxAttempts} times while it read ${shownPage(claimed.source_url)}. Look in its log, fix the cause, and refresh again`
          )
        : source.read(claimed.source_url, repo.isCurrent(claimed)).pipe(
            Effect.matchEffect({
              onSuccess: (read) => onSuccess(claimed, read),
              onFailure: ({ reason }) => onFailure(claimed, reason)
            })
          )

    /** Without a result when this node loses its lease, or the database fails: the claim is then taken over. */
    const work = (claimed: Claimed, lost: Effect.Effect<void>) =>
      refresh(claimed).pipe(
        Effect.raceFirst(lost),
        Effect.catchAllCause((cause) =>
          Effect.zipRight(
            Effect.logWarning(`The refresh of knowledge base ${claimed.public_id} ended early; it is repeated`, cause),
            Effect.ignoreLogged(Effect.sandbox(repo.giveUp(claimed)))
          )
        )
      )

    yield* lease.onDeath("knowledge", repo.release, due.announce)
    yield* startPeriodicTask({
      every: Duration.infinity,
      // Made due by this process, or by another one or the time.
      early: Effect.raceFirst(yield* due.listen, yield* check.register("knowledge.refreshes", () => repo.hasDue)),
      run: Effect.gen(function* () {
        while ((yield* FiberSet.size(running)) < maxAtOnce) {
          const { id: node, lost } = yield* lease.current
          const claimed = yield* repo.claim(node)
          if (Option.isNone(claimed)) return
          const refreshing = yield* FiberSet.run(running, work(claimed.value, lost))
          // Another base may have waited for this one, and its passages want vectors.
          refreshing.addObserver(() => Runtime.runSync(runtime, due.announce))
        }
      }),
      failureMessage: "Knowledge bases that are due could not be read; trying again"
    })
  })
)
