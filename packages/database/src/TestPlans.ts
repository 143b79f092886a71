import { SqlClient, type SqlError, Statement } from "@effect/sql"
import { Effect } from "effect"

/** What statements did to tables: how many statements there were, which tables they read whole, and how many rows they touched. */
export interface Reading {
  readonly statements: number
  /** Lines of plans that scan a whole table. */
  readonly whole: ReadonlyArray<string>
  /** Scans of the tables, by index or not. */
  readonly scans: number
  /** Rows that these gave, and those that were looked at and thrown away. */
  readonly rows: number
  /** Indexes that were used. */
  readonly indexes: ReadonlySet<string>
}

/** For tests of what statements cost: runs an effect, then what it asked the database once more under `explain analyze`. */
export const readingOf = <E>(
  effect: Effect.Effect<unknown, E>,
  tables: ReadonlyArray<string>
): Effect.Effect<Reading, E | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const asked: Array<ReturnType<Statement.Statement<unknown>["compile"]>> = []
    yield* Statement.withTransformer(effect, (statement) =>
      Effect.sync(() => {
        asked.push(statement.compile())
        return statement
      })
    )
    const plans = yield* Effect.forEach(asked, ([text, params]) =>
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
      statements: asked.length,
      whole: lines.filter((line) => seqScan.test(line)),
      scans: scans.length,
      rows: [...scans, ...removed].reduce((sum, n) => sum + n, 0),
      indexes: new Set(indexes)
    }
  })
