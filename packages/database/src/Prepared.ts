import type * as Pg from "pg"

/** Maximum number of prepared statements: the server keeps a plan of each for each connection. */
const maxNames = 200
/** Maximum number of statements counted; above it all counts are dropped. */
const maxCounted = 2000
/** Executions after which a statement is prepared. */
const minExecutions = 5

/**
 * A statement with this comment is never prepared but planned each time, for the lengths of its arrays. A generic plan
 * expects short arrays, and for long ones may scan the whole table for each element.
 */
export const plannedEachTime = "/* planned each time */"

/** Names of prepared statements, by text: the same on all connections of a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #last = 0

  /** Counts an execution, and returns the statement's name if it is prepared. */
  of(text: string): string | undefined {
    const name = this.#names.get(text)
    if (name !== undefined || this.#names.size >= maxNames || text.includes(plannedEachTime)) return name
    const count = (this.#counts.get(text) ?? 0) + 1
    if (count >= minExecutions) {
      this.#counts.delete(text)
      return this.renew(text)
    }
    if (this.#counts.size >= maxCounted) this.#counts.clear()
    this.#counts.set(text, count)
    return undefined
  }

  /** A new name, because the plans that connections have under the old one are stale. */
  renew(text: string): string {
    const name = `svc_${++this.#last}`
    this.#names.set(text, name)
    return name
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)

/** The server has dropped the statement, or a schema change has invalidated its plan. */
const isStale = (error: unknown): boolean =>
  codeOf(error) === "26000" ||
  (codeOf(error) === "0A000" && error instanceof Error && error.message.includes("cached plan"))

/** The transaction is already aborted. */
const isAborted = (error: unknown): boolean => codeOf(error) === "25P02"

/**
 * Makes a connection prepare frequent statements: planning most of them takes longer than running them. A statement
 * with a stale plan is retried with a new one, except in a transaction, which the error has aborted.
 */
export const prepare = (client: Pg.PoolClient, names: StatementNames): void => {
  const query: (...call: ReadonlyArray<unknown>) => unknown = client.query.bind(client)
  const prepared = (...call: ReadonlyArray<unknown>): unknown => {
    const [text, values, done] = call
    // The form that the SQL client uses; others, such as cursors, pass unchanged.
    const isPlain = typeof text === "string" && Array.isArray(values) && values.length > 0 && typeof done === "function"
    const name = isPlain ? names.of(text) : undefined
    if (!isPlain || name === undefined) return query(...call)
    return query({ name, text, values }, (error: unknown, result: unknown) => {
      if (!isStale(error)) return void done(error, result)
      if (names.of(text) === name) names.renew(text)
      query(text, values, (second: unknown, retried: unknown) => void done(isAborted(second) ? error : second, retried))
    })
  }
  Object.defineProperty(client, "query", { value: prepared })
}
