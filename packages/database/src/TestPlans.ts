import { SqlClient, type SqlError, Statement } from "@effect/sql"
import { Effect } from "effect"

/** Figures from the plans of statements. */
export interface PlanFigures {
  readonly statements: number
  /** The lines of the plans that show a sequential scan. */
  readonly sequentialScans: ReadonlyArray<string>
  /** Scans of the tables, with or without an index. */
  readonly scans: number
  /** Rows that the scans returned or filtered out. */
  readonly rows: number
  /** Names of the indexes used. */
  readonly indexes: ReadonlySet<string>
}

/** Runs an effect, then its statements again under `explain analyze`. For tests of plans. */
export const planFiguresOf = <E>(
  effect: Effect.Effect<unknown, E>,
  tables: ReadonlyArray<string>
): Effect.Effect<PlanFigures, E | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const compiled: Array<ReturnType<Statement.Statement<unknown>["compile"]>> = []
    yield* Statement.withTransformer(effect, (statement) =>
      Effect.sync(() => {
        compiled.push(statement.compile())
        return statement
      })
    )
    const plans = yield* Effect.forEach(compiled, ([text, params]) =>
      sql.unsafe<{ readonly "QUERY PLAN": string }>(
        `explain (analyze, costs off, timing off, summary off) ${text}`,
        params
      )
    )
    const lines = plans.flat().map((row) => row["QUERY PLAN"])
    const names = tables.join("|")
    const scan = new RegExp(`Scan.* on (?:${names}) .*\\(actual rows=([\\d.]+) loops=(\\d+)\\)`)
    const seqScan = new RegExp(`Seq Scan on (?:${names})\\b`)
    const scans = lines.flatMap((line) => {
      const found = scan.exec(line)
      return found === null ? [] : [Number(found[1]) * Number(found[2])]
    })
    const removed = lines.flatMap((line) => {
      const found = /Rows Removed by (?:Filter|Index Recheck): (\d+)/.exec(line)
      return found === null ? [] : [Number(found[1])]
    })
    const indexes = lines.flatMap(
      (line) => /Index (?:Only )?Scan (?:Backward )?(?:using|on) (\w+)/.exec(line)?.[1] ?? []
    )
    return {
      statements: compiled.length,
      sequentialScans: lines.filter((line) => seqScan.test(line)),
      scans: scans.length,
      rows: [...scans, ...removed].reduce((sum, n) => sum + n, 0),
      indexes: new Set(indexes)
    }
  })
