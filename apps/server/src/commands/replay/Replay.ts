import { inSteps } from "@svc/api/Thread"
import { JournalRepo, type StoredJournal } from "@svc/call-engine/record/JournalRepo"
import { type Replayed, replaying } from "@svc/conversation/Replay"
import { Database } from "@svc/database/Database"
import { Cause, Console, DateTime, Effect, Layer, Option } from "effect"
import { describeCause, exitCodes, Reported, report } from "../../StartFailure.ts"
import { decodeRows, type Journal, ReplayImpossible } from "./Journal.ts"
import { reportOf, textOf } from "./ReplayReport.ts"
import * as SavedJournal from "./SavedJournal.ts"

/** Options of `svc replay`. */
export interface ReplayOptions {
  /** A call's public or numeric id, or a saved journal's file. */
  readonly source: string
  readonly save: Option.Option<string>
  readonly json: boolean
  /** Of this program. */
  readonly version: string
}

const impossible = (message: string) => new ReplayImpossible({ message })

const isCallId = (source: string): boolean => /^(call_[0-9A-Za-z_]+|[0-9]+)$/.test(source)

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
  }).pipe(Effect.provide(JournalRepo.layer.pipe(Layer.provideMerge(Database.layer))))

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
 * `svc replay <call_id|file>`: runs the journal of a call through the conversation again and shows where this version
 * gives other commands. Exit codes: 0 none, 1 some, 2 the journal cannot be replayed.
 */
export const replay = (options: ReplayOptions) =>
  Effect.gen(function* () {
    const { save, source } = options
    if (!isCallId(source) && Option.isSome(save)) {
      return yield* impossible(`--save is for the journal of a call; ${source} is a file already`)
    }
    const stored = isCallId(source) ? yield* ofCall(source) : undefined
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
