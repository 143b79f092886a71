import { inSteps } from "@svc/api/Thread"
import { JournalRepo, type StoredJournal } from "@svc/call-engine/record/JournalRepo"
import { TestSessionsRepo } from "@svc/call-engine/test-sessions/TestSessionsRepo"
import { type Replayed, replaying } from "@svc/conversation/Replay"
import { Database } from "@svc/database/Database"
import { Cause, Console, DateTime, Effect, Layer, Option } from "effect"
import { describeCause, exitCodes, Reported, report } from "../../StartFailure.ts"
import { decodeRows, type Journal, ReplayImpossible } from "./Journal.ts"
import { reportOf, textOf } from "./ReplayReport.ts"
import * as SavedJournal from "./SavedJournal.ts"

/** Options of `svc replay`. */
export interface ReplayOptions {
  /** A call's public or numeric id, a test session's public id, or a saved journal's file. */
  readonly source: string
  readonly save: Option.Option<string>
  readonly json: boolean
  /** Of this program. */
  readonly version: string
}

const impossible = (message: string) => new ReplayImpossible({ message })

const isSessionId = (source: string): boolean => /^ts_[0-9A-Za-z]+$/.test(source)
/** Of a call or of a test session. */
const isId = (source: string): boolean => isSessionId(source) || /^(call_[0-9A-Za-z_]+|[0-9]+)$/.test(source)

const ofCall = (id: string) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(JournalRepo, ({ stored }) => stored(id))
    if (Option.isNone(found)) {
      return yield* impossible(
        `there is no call ${id} in this database: give its public or numeric id (GET /v1/calls lists them), or a file`
      )
    }
    if (found.value.rows.length === 0) {
      return yield* impossible(`the call ${id} has no journal: it was refused before a conversation began`)
    }
    return found.value
  })

const ofSession = (id: string) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(TestSessionsRepo, ({ stored }) => stored(id))
    if (Option.isNone(found)) {
      return yield* impossible(
        `there is no test session ${id} in this database: give its public id, or a file. Sessions are kept for 30 days`
      )
    }
    if (found.value.rows.length === 0) {
      return yield* impossible(`the test session ${id} has no journal: it ended before a conversation began`)
    }
    return found.value
  })

const journalOf = (id: string) =>
  Effect.suspend(
    (): Effect.Effect<StoredJournal, ReplayImpossible, JournalRepo | TestSessionsRepo> =>
      isSessionId(id) ? ofSession(id) : ofCall(id)
  ).pipe(
    Effect.provide(Layer.merge(JournalRepo.layer, TestSessionsRepo.layer).pipe(Layer.provideMerge(Database.layer)))
  )

const decoded = ({ call_id, ended, rows }: StoredJournal) =>
  Effect.map(
    decodeRows(`the journal of ${call_id}`, rows),
    (read): Journal => ({ call_id, ended, rows: read, saved: null, recorded: new Map() })
  )

/** Runs a journal through the conversation. A fault of the conversation itself is reported as such. */
const replayed = ({ call_id, rows }: Journal): Effect.Effect<Replayed, ReplayImpossible> =>
  inSteps(() => replaying(rows)).pipe(
    Effect.catchAllDefect((defect) =>
      impossible(`this version fails at the journal of ${call_id}: ${describeCause(Cause.die(defect))}`)
    ),
    Effect.flatMap((result) =>
      result === undefined ? impossible(`the journal of ${call_id} is empty`) : Effect.succeed(result)
    )
  )

/**
 * `svc replay <id|file>`: runs the journal of a call or a test session through the conversation again and shows where this version
 * gives other commands. Exit codes: 0 none, 1 some, 2 the journal cannot be replayed.
 */
export const replay = (options: ReplayOptions) =>
  Effect.gen(function* () {
    const { save, source } = options
    if (!isId(source) && Option.isSome(save)) {
      return yield* impossible(`--save is for the journal of a call; ${source} is a file already`)
    }
    const stored = isId(source) ? yield* journalOf(source) : undefined
    const journal = stored === undefined ? yield* SavedJournal.read(source) : yield* decoded(stored)
    const result = yield* replayed(journal)
    if (stored !== undefined && Option.isSome(save)) {
      yield* SavedJournal.write(save.value, {
        version: options.version,
        at: DateTime.formatIso(yield* DateTime.now),
        journal: stored,
        given: new Map(result.steps.map(({ commands, seq }) => [seq, commands]))
      })
    }
    const compared = reportOf(journal, result)
    yield* Console.log(options.json ? JSON.stringify(compared) : textOf(compared))
    if (!compared.ok) return yield* Effect.fail(new Reported())
  }).pipe(
    Effect.catchAllCause((cause) =>
      Cause.squash(cause) instanceof Reported || Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause)
        : Effect.mapError(report(cause), () => new Reported(exitCodes.usage))
    )
  )
