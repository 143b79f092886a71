import { Cause, Context, Data, Duration, Effect, Layer, type Scope } from "effect"
import { monotonicMillis } from "../MonotonicTime.ts"

/** A provider violates the contract. `reason` is one sentence. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/** One requirement on a provider, as data: it runs with vitest (`Suite.ts`) or with any other test runner. */
export interface Check {
  /** The requirement as a sentence: "emits no event after the session's scope was closed". */
  readonly name: string
  readonly effect: Effect.Effect<void, CheckFailed>
}

/**
 * The provider with a faulty peer: one layer for each fault that the author can simulate, for example with a fake
 * vendor server. Omitted faults are not checked.
 */
export interface Faults<I> {
  /** The peer refuses: invalid key, HTTP 500, connection refused. */
  readonly refuses?: Layer.Layer<I, unknown>
  /** The peer accepts the connection and never answers. */
  readonly hangs?: Layer.Layer<I, unknown>
  /** The peer closes the connection during the request. */
  readonly closesEarly?: Layer.Layer<I, unknown>
  /** The peer sends data that violates its protocol. */
  readonly sendsGarbage?: Layer.Layer<I, unknown>
}

/** The options of all suites. */
export interface CheckOptions<I> {
  /** Built again for each check. */
  readonly layer: Layer.Layer<I, unknown>
  readonly faults?: Faults<I>
  /** The number of sessions or sockets that are open at the peer. It must return to its initial value. */
  readonly openAtPeer?: Effect.Effect<number>
  /** How long one step of a provider may take before it counts as hung. 5 s by default. */
  readonly deadline?: Duration.DurationInput
  /** How long a check waits for events that must not come. 100 ms by default. */
  readonly quietPeriod?: Duration.DurationInput
  /** The number of sessions that the check for leaks opens and closes. 1,000 by default. */
  readonly sessions?: number
}

/** The deadlines and waits of a suite's checks. */
export interface Waits {
  /** Fails the check when `effect` takes longer than the deadline. */
  readonly within: <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | CheckFailed, R>
  /** The error of an effect that must fail in time, with an error that `isTyped` accepts. */
  readonly mustFail: <A, E, R>(
    what: string,
    effect: Effect.Effect<A, E, R>,
    isTyped: (error: E) => boolean
  ) => Effect.Effect<E, CheckFailed, R>
  /** Waits until `condition` holds; fails the check at the deadline. */
  readonly eventually: (what: string, condition: () => boolean) => Effect.Effect<void, CheckFailed>
  /** Waits for the quiet period, so that an event that must not come would have come. */
  readonly quiet: Effect.Effect<void>
}

/** The tools with which a suite defines its checks. */
export interface Harness<I, S> extends Waits {
  readonly check: (name: string, body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>) => Check
  /** A check with a faulty peer; none when its layer was omitted. */
  readonly fault: (
    layer: Layer.Layer<I, unknown> | undefined,
    name: string,
    body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>
  ) => ReadonlyArray<Check>
}

/** Fails the check unless `condition` holds. `reason` states what the provider did. */
export const must = (condition: boolean, reason: string): Effect.Effect<void, CheckFailed> =>
  condition ? Effect.void : new CheckFailed({ reason })

/** Calls a method of the provider that must not throw. */
export const mustNotThrow = <A>(what: string, call: () => A): Effect.Effect<A, CheckFailed> =>
  Effect.try({ try: call, catch: (thrown) => new CheckFailed({ reason: `${what} threw: ${thrown}` }) })

/** Fails the check when the provider fails with a typed error. */
export const mustSucceed =
  (what: string) =>
  <A, E extends { readonly reason: string }, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, CheckFailed, R> =>
    Effect.mapError(effect, (error) =>
      error instanceof CheckFailed ? error : new CheckFailed({ reason: `${what} failed: ${error.reason}` })
    )

/** How long a whole check may take. */
const limit = Duration.minutes(2)
/** Milliseconds between two tests of a condition. */
const pollMs = 5

/** The harness of a suite whose checks run against the service `tag`. */
export const makeHarness = <I, S>(tag: Context.Tag<I, S>, options: CheckOptions<I>): Harness<I, S> => {
  const deadline = Duration.decode(options.deadline ?? "5 seconds")
  const late = (what: string, duration: Duration.Duration) =>
    new CheckFailed({ reason: `${what} took longer than ${Duration.format(duration)}` })

  const within: Waits["within"] = (what, effect) =>
    effect.pipe(Effect.disconnect, Effect.timeoutFail({ duration: deadline, onTimeout: () => late(what, deadline) }))

  const make = (
    layer: Layer.Layer<I, unknown>,
    name: string,
    body: (service: S) => Effect.Effect<void, CheckFailed, Scope.Scope>
  ): Check => ({
    name,
    effect: within("starting the layer", Layer.build(layer)).pipe(
      Effect.mapError((error) =>
        error instanceof CheckFailed ? error : new CheckFailed({ reason: `the layer did not start: ${error}` })
      ),
      Effect.flatMap((context) => body(Context.get(context, tag))),
      Effect.scoped,
      Effect.disconnect,
      Effect.timeoutFail({ duration: limit, onTimeout: () => late("the check", limit) }),
      Effect.sandbox,
      Effect.mapError((cause) => {
        const error = Cause.squash(cause)
        return error instanceof CheckFailed ? error : new CheckFailed({ reason: `it died with a defect: ${error}` })
      })
    )
  })

  return {
    check: (name, body) => make(options.layer, name, body),
    fault: (layer, name, body) => (layer === undefined ? [] : [make(layer, name, body)]),
    within,
    mustFail: (what, effect, isTyped) =>
      Effect.flatMap(Effect.either(within(what, effect)), (result) => {
        if (result._tag === "Right") return new CheckFailed({ reason: `${what} succeeded` })
        const error = result.left
        if (error instanceof CheckFailed) return error
        return isTyped(error) ? Effect.succeed(error) : new CheckFailed({ reason: `${what} failed with ${error}` })
      }),
    eventually: (what, condition) =>
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const start = monotonicMillis(clock)
        while (!condition()) {
          if (monotonicMillis(clock) - start > Duration.toMillis(deadline)) {
            return yield* new CheckFailed({ reason: `${what} did not happen within ${Duration.format(deadline)}` })
          }
          yield* Effect.sleep(pollMs)
        }
      }),
    quiet: Effect.sleep(options.quietPeriod ?? "100 millis")
  }
}

/** Text for comparison: lower case, without punctuation, with single spaces. */
export const normalized = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
