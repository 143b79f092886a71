import { SqlClient, type Statement } from "@effect/sql"
import { Clock, Context, Duration, Effect, Exit, FiberSet, Layer, type Scope } from "effect"
import { NodeLease } from "./NodeLease.ts"
import { sweepInterval } from "./SweepInterval.ts"

/** How often a node checks while there are others, which may leave work to it. */
const interval = "1 second"
/** The same of a node that is alone. */
const intervalAlone = "2 seconds"
/** After this a statement is abandoned, and has failed. */
const timeout = "2 seconds"
/** How often, in milliseconds, a node looks whether the database answers again. */
const awayMillis = 500

/**
 * A scalar SQL expression at the node's time `now`: a boolean, whether something is due, or a `float8`, the milliseconds
 * until something is. Null: nothing. It is evaluated at each check, so an index must answer it. Its text must stay the
 * same, because the statement is prepared: what changes is a parameter.
 */
export type DueExpression = (now: Date) => Statement.Fragment

/** What the expressions of each name say. */
export type DueValues = Readonly<Record<string, boolean | number | null>>

interface Registration {
  readonly expression: DueExpression
  /** Open: something was due since the worker waited last. */
  readonly due: Effect.Latch
}

/**
 * Checks in one query for all workers of this node whether something is due, every second, or every 2 seconds while no
 * other node is alive. The answer is a hint: a worker claims with a statement of its own, as other nodes may do at the
 * same time.
 *
 * A check that fails although the database answers (an expression is wrong, a table is locked) counts as if something were
 * due for each worker: none depends on the expressions of others. While the database does not answer, no worker is woken,
 * and the check goes on within half a second after it does. The first failure in a row is logged as a warning.
 */
export class DueCheck extends Context.Tag("@svc/cluster/DueCheck")<
  DueCheck,
  {
    /**
     * Adds an expression to the check until the scope closes. `name` is unique on the node. Returns the worker's wait: it
     * completes when something is due, or was since the last wait.
     */
    readonly register: (
      name: string,
      expression: DueExpression
    ) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<DueCheck, never, NodeLease | SqlClient.SqlClient> = Layer.scoped(
    DueCheck,
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      makeDueCheck({
        values: (expressions) => {
          const columns = expressions.map(([name, expression]) => sql`${expression} as ${sql.literal(`"${name}"`)}`)
          return Effect.map(sql<DueValues>`select ${sql.csv(columns)}`, ([row = {}]) => row)
        },
        answers: sql`select 1`
      })
    )
  )
}

/** The statements of a check. */
export interface DueQueries {
  readonly values: (
    expressions: ReadonlyArray<readonly [name: string, Statement.Fragment]>
  ) => Effect.Effect<DueValues, unknown>
  /** Succeeds when the database answers. */
  readonly answers: Effect.Effect<unknown, unknown>
}

/** The check with other statements than those of {@link DueCheck.layer}. */
export const makeDueCheck = ({
  answers,
  values: valuesOf
}: DueQueries): Effect.Effect<Context.Tag.Service<typeof DueCheck>, never, NodeLease | Scope.Scope> =>
  Effect.gen(function* () {
    const currentInterval = sweepInterval(yield* NodeLease, interval, intervalAlone)
    const registered = new Map<string, Registration>()
    /** Until something is due that was not at the last check. */
    const timers = yield* FiberSet.make<void>()

    /** Wakes the workers for which something is due now, or will be before the next check. */
    const check = Effect.fnUntraced(function* (now: number, nextAfter: number) {
      const registrations = [...registered]
      if (registrations.length === 0) return
      const date = new Date(now)
      const values = yield* valuesOf(registrations.map(([name, { expression }]) => [name, expression(date)]))
      for (const [name, { due }] of registrations) {
        const value = values[name] ?? false
        const wait = typeof value === "number" ? value : value ? 0 : Number.POSITIVE_INFINITY
        if (wait <= 0) due.unsafeOpen()
        else if (wait < nextAfter) yield* FiberSet.run(timers, Effect.delay(due.open, wait))
      }
    })

    /** A statement whose connection broke may not be interruptible. */
    const attempt = (statements: Effect.Effect<unknown, unknown>) =>
      Effect.exit(statements.pipe(Effect.disconnect, Effect.timeout(timeout)))
    const isAnswered = Effect.map(attempt(answers), Exit.isSuccess)
    let isFailing = false
    let isAway = false

    /** Returns the milliseconds to wait for the next check. */
    const round = Effect.fnUntraced(function* () {
      if (isAway && !(yield* isAnswered)) return awayMillis
      isAway = false
      const nextAfter = Duration.toMillis(yield* currentInterval)
      const started = yield* Clock.currentTimeMillis
      const checked = yield* attempt(check(started, nextAfter))
      if (Exit.isFailure(checked)) {
        isAway = !(yield* isAnswered)
        if (!isAway) for (const { due } of registered.values()) due.unsafeOpen()
        if (!isFailing) {
          const then = isAway ? "trying again" : "each worker looks for itself"
          yield* Effect.logWarning(`Could not check whether work is due; ${then}`, checked.cause)
        }
      }
      isFailing = Exit.isFailure(checked)
      if (isAway) return awayMillis
      // The clock may have been set.
      const took = Math.max(0, (yield* Clock.currentTimeMillis) - started)
      return Math.max(0, nextAfter - took)
    })

    yield* Effect.flatMap(currentInterval, Effect.sleep).pipe(
      Effect.zipRight(Effect.forever(Effect.flatMap(round(), Effect.sleep))),
      Effect.forkScoped
    )

    const register = (name: string, expression: DueExpression) =>
      Effect.suspend(() => {
        if (registered.has(name)) return Effect.dieMessage(`${name} is registered already`)
        const due = Effect.unsafeMakeLatch()
        const added = Effect.acquireRelease(
          Effect.sync(() => registered.set(name, { expression, due })),
          () => Effect.sync(() => registered.delete(name))
        )
        return Effect.as(
          added,
          Effect.tap(due.await, () => due.close)
        )
      })

    return { register }
  })
