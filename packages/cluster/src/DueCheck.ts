import { SqlClient, type Statement } from "@effect/sql"
import { Clock, Context, Effect, Exit, FiberSet, Layer, type Scope } from "effect"
import { NodeLease } from "./NodeLease.ts"

/** How often, in milliseconds, a node checks while there are others, which may leave work to it. */
const intervalMillis = 1000
/** The same of a node that is alone: only a node that has just started or stopped can have left work. */
const intervalAloneMillis = 2000
/** After this a statement is abandoned, and has failed. */
const timeout = "2 seconds"
/** The pause, in milliseconds, between two attempts to find out whether the database answers again. */
const awayMillis = 500

/**
 * A scalar SQL expression at the node's time `now`: a boolean, whether something is due, or a `float8`, the milliseconds
 * until something is, counted from `now`. Null: nothing. It is evaluated at each check, so it must be cheap: an index or a
 * small table answers it. Its text must stay the same, because the statement is prepared: what changes is a parameter.
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
 * and the check goes on within 2.5 seconds after it does. A database without a free connection for 2 seconds counts as one that does
 * not answer. The first failure in a row is logged as a warning.
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
    const lease = yield* NodeLease
    const currentInterval = Effect.map(lease.others, (others) => (others > 0 ? intervalMillis : intervalAloneMillis))
    const registered = new Map<string, Registration>()
    /** Until something is due that was not at the last check. */
    const timers = yield* FiberSet.make<void>()

    /**
     * The pause after a check that began at `started`: what is left of the interval, and half of it at least, so that a
     * slow database gets no checks without a pause. The clock may have been set.
     */
    const pauseAfter = (started: number, now: number, interval: number): number =>
      Math.max(interval / 2, interval - Math.max(0, now - started))

    /** Wakes the workers for which something is due now, or will be before the next check. */
    const check = Effect.fnUntraced(function* (started: number, interval: number) {
      const registrations = [...registered]
      if (registrations.length === 0) return
      const date = new Date(started)
      const values = yield* valuesOf(registrations.map(([name, { expression }]) => [name, expression(date)]))
      const now = yield* Clock.currentTimeMillis
      const pause = pauseAfter(started, now, interval)
      for (const [name, { due }] of registrations) {
        const value = values[name] ?? false
        const wait = typeof value === "number" ? value - (now - started) : value ? 0 : Number.POSITIVE_INFINITY
        if (wait <= 0) due.unsafeOpen()
        else if (wait < pause) yield* FiberSet.run(timers, Effect.delay(due.open, wait))
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
      const interval = yield* currentInterval
      const started = yield* Clock.currentTimeMillis
      const checked = yield* attempt(check(started, interval))
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
      return pauseAfter(started, yield* Clock.currentTimeMillis, interval)
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
