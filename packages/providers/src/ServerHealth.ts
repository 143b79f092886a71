import { Duration, Effect, Fiber, type Scope } from "effect"
import { type Health, healthy } from "./Health.ts"
import type { Host } from "./Host.ts"
import type { RequestFailed, RequestFailures } from "./RequestFailed.ts"

/** How long the start of the server waits for the first answer. */
const startWait = Duration.seconds(2)
/** How long an answer stands for the health of the server. */
const freshFor = Duration.seconds(10)
const refreshEvery = Duration.minutes(5)
const deadline = Duration.millis(2500)

/**
 * The health of a vendor's server, by a cheap request that needs the key: made at the start, every five minutes, and when
 * somebody asks. A refused key does not stop the start: the provider is unhealthy, and the log says so once. A server that
 * does not have what was asked for (another status of 4xx) is healthy.
 */
export const make = (options: {
  readonly request: Effect.Effect<unknown, RequestFailed>
  readonly failures: RequestFailures
  readonly host: Host
  /** Why it is unhealthy when there is no answer in time. */
  readonly noAnswer: string
}): Effect.Effect<{ readonly health: Effect.Effect<Health> }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, host } = options
    let logged: string | undefined
    const unhealthy = (reason: string): Health => {
      if (reason !== logged && reason !== failures.refused()) host.log.warning(reason)
      logged = reason
      return { healthy: false, reason }
    }
    const ask: Effect.Effect<Health> = options.request.pipe(
      Effect.map((): Health => {
        logged = undefined
        return healthy
      }),
      Effect.catchAll(({ reason, status }) =>
        Effect.sync(() =>
          status === undefined || status === 401 || status === 403 || status >= 500 ? unhealthy(reason) : healthy
        )
      ),
      Effect.timeoutTo({
        duration: deadline,
        onSuccess: (health) => health,
        onTimeout: () => unhealthy(options.noAnswer)
      })
    )
    const health = yield* Effect.cachedWithTTL(ask, freshFor)
    const first = yield* Effect.forkScoped(health)
    yield* Effect.raceFirst(Fiber.await(first), Effect.sleep(startWait))
    yield* Effect.forkScoped(Effect.forever(Effect.delay(health, refreshEvery)))
    const current = Effect.suspend(() => {
      const reason = failures.refused()
      return reason === undefined
        ? health
        : Effect.map(health, (state): Health => (state.healthy ? { healthy: false, reason } : state))
    })
    return { health: current }
  })
