import type * as Pg from "pg"

/** Statements that are prepared at most: each connection of the server keeps a plan of each. */
const mostNames = 200
/** Statements that are counted at most; then counting begins anew. */
const mostCounted = 2000
/** A statement is prepared once it was asked for so often: what is asked once is not worth its name. */
const often = 5

/**
 * A statement with this in it is planned each time, for the very arrays that it is given: worth it when they are long, since
 * a plan for all lengths takes them for short and may go through the whole table for each of their elements.
 */
export const plannedEachTime = "/* planned each time */"

/** Which statements have names: the text of a statement has the same on all connections of a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #given = 0

  /** The name of a statement that is asked for now, when it has one. */
  of(text: string): string | undefined {
    const name = this.#names.get(text)
    if (name !== undefined || this.#names.size >= mostNames || text.includes(plannedEachTime)) return name
    const count = (this.#counts.get(text) ?? 0) + 1
    if (count >= often) {
      this.#counts.delete(text)
      return this.renew(text)
    }
    if (this.#counts.size >= mostCounted) this.#counts.clear()
    this.#counts.set(text, count)
    return undefined
  }

  /** Another name, because connections know the old one with a plan that is of no use any more. */
  renew(text: string): string {
    const name = `svc_${++this.#given}`
    this.#names.set(text, name)
    return name
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)

/** The server has forgotten the statement, or a change of the schema has made its plan useless. */
const isStale = (error: unknown): boolean =>
  codeOf(error) === "26000" ||
  (codeOf(error) === "0A000" && error instanceof Error && error.message.includes("cached plan"))

/** The transaction has failed before. */
const isAborted = (error: unknown): boolean => codeOf(error) === "25P02"

/**
 * Makes a connection prepare the statements that are asked for again and again: to plan most of ours takes longer than to
 * run them. One whose plan is outdated is planned anew and run again; in a transaction, which that error has ended, it
 * fails.
 */
export const prepare = (client: Pg.PoolClient, names: StatementNames): void => {
  const query: (...call: ReadonlyArray<unknown>) => unknown = client.query.bind(client)
  const prepared = (...call: ReadonlyArray<unknown>): unknown => {
    const [text, values, done] = call
    // The form in which the SQL client asks; others, such as cursors, go through as they are.
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
