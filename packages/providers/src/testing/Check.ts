import { Cause, Clock, Context, Data, Duration, Effect, Layer, type Scope } from "effect"

/** What a provider does wrong, as one sentence. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/** One thing that a provider must do, as data: runnable with vitest (`Suite.ts`) or without. */
export interface Check {
  /** What must hold, as a sentence: "tells nothing after its scope is closed". */
  readonly name: string
  readonly effect: Effect.Effect<void, CheckFailed>
}

/**
 * The provider against peers that misbehave, one layer for each that the author can stage (with a fake vendor server, say). Those
 * that are left out are not checked.
 */
export interface Faults<I> {
  /** The peer refuses: wrong key, 500, connection refused. */
  readonly refuses?: Layer.Layer<I, unknown>
  /** The peer accepts and then never says anything. */
  readonly hangs?: Layer.Layer<I, unknown>
  /** The peer ends the connection in the middle of the work. */
  readonly closesEarly?: Layer.Layer<I, unknown>
  /** The peer sends what its protocol does not allow. */
  readonly sendsGarbage?: Layer.Layer<I, unknown>
}

/** What all suites take. */
export interface CheckOptions<I> {
  /** Built anew for each check. */
  readonly layer: Layer.Layer<I, unknown>
  readonly faults?: Faults<I>
  /** Sessions, sockets or the like that the peer still holds open; must come back to what it was. */
  readonly openAtPeer?: Effect.Effect<number>
  /** How long a provider may take over one step before it counts as hung. 5 s by default. */
  readonly patience?: Duration.DurationInput
  /** How long nothing may happen where nothing should. 100 ms by default. */
  readonly quiet?: Duration.DurationInput
  /** How many sessions the check for leaks opens and closes. 1,000 by default. */
  readonly sessions?: number
}

/** The means of a suite's checks. */
export interface Bench<I, S> {
  readonly check: (name: string, body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>) => Check
  /** A check against a faulty peer; none when the author cannot stage it. */
  readonly fault: (
    layer: Layer.Layer<I, unknown> | undefined,
    name: string,
    body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>
  ) => ReadonlyArray<Check>
  /** Fails the check when `effect` takes longer than the patience. */
  readonly within: <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | CheckFailed, R>
  /** Waits until `condition` holds; fails the check when it does not. */
  readonly eventually: (what: string, condition: () => boolean) => Effect.Effect<void, CheckFailed>
  /** Lets enough time pass that something which should not happen would have happened. */
  readonly quiet: Effect.Effect<void>
}

/** Fails the check unless `condition` holds. `reason` says what the provider did. */
export const must = (condition: boolean, reason: string): Effect.Effect<void, CheckFailed> =>
  condition ? Effect.void : new CheckFailed({ reason })

/** Calls something of the provider that must not throw. */
export const mustNotThrow = <A>(what: string, call: () => A): Effect.Effect<A, CheckFailed> =>
  Effect.try({ try: call, catch: (thrown) => new CheckFailed({ reason: `${what} threw: ${thrown}` }) })

/** A typed error of a provider where none is expected. */
export const noError =
  (what: string) =>
  <A, E extends { readonly reason: string }, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, CheckFailed, R> =>
    Effect.mapError(effect, (error) =>
      error instanceof CheckFailed ? error : new CheckFailed({ reason: `${what} failed: ${error.reason}` })
    )

/** How long a whole check may take, hung or not. */
const limit = Duration.minutes(2)
/** How often a condition is looked at. */
const pollMs = 5

export const bench = <I, S>(tag: Context.Tag<I, S>, options: CheckOptions<I>): Bench<I, S> => {
  const patience = Duration.decode(options.patience ?? "5 seconds")
  const late = (what: string, duration: Duration.Duration) =>
    new CheckFailed({ reason: `${what} takes longer than ${Duration.format(duration)}` })

  const within: Bench<I, S>["within"] = (what, effect) =>
    effect.pipe(Effect.disconnect, Effect.timeoutFail({ duration: patience, onTimeout: () => late(what, patience) }))

  const make = (
    layer: Layer.Layer<I, unknown>,
    name: string,
    body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>
  ): Check => ({
    name,
    effect: within("starting the layer", Layer.build(layer)).pipe(
      Effect.mapError((error) =>
        error instanceof CheckFailed ? error : new CheckFailed({ reason: `the layer does not start: ${error}` })
      ),
      Effect.flatMap((context) => body(Context.get(context, tag))),
      Effect.scoped,
      Effect.disconnect,
      Effect.timeoutFail({ duration: limit, onTimeout: () => late("the check", limit) }),
      Effect.sandbox,
      Effect.mapError((cause) => {
        const error = Cause.squash(cause)
        return error instanceof CheckFailed ? error : new CheckFailed({ reason: `it died: ${error}` })
      })
    )
  })

  return {
    check: (name, body) => make(options.layer, name, body),
    fault: (layer, name, body) => (layer === undefined ? [] : [make(layer, name, body)]),
    within,
    eventually: (what, condition) =>
      Effect.gen(function* () {
        const start = yield* Clock.currentTimeMillis
        while (!condition()) {
          if ((yield* Clock.currentTimeMillis) - start > Duration.toMillis(patience)) {
            return yield* new CheckFailed({ reason: `waited in vain for: ${what}` })
          }
          yield* Effect.sleep(pollMs)
        }
      }),
    quiet: Effect.sleep(options.quiet ?? "100 millis")
  }
}
