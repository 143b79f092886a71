import { type Health, healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { Duration, Effect, Fiber, Schema, type Scope } from "effect"
import type { OpenAiClient } from "./OpenAiClient.ts"

/** What a server says about itself. */
export interface ModelList {
  /** The names of its models, as far as known. */
  readonly names: () => ReadonlyArray<string>
  readonly health: Effect.Effect<Health>
  /** Opens a connection, if none was used lately. */
  readonly warm: Effect.Effect<void>
}

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
const decodeModels = Schema.decodeUnknownOption(Models)

/** How long the start of the server waits for the list. */
const startWait = Duration.seconds(2)
/** How long an answer of the server stands for its health, and keeps its connection warm. */
const freshFor = Duration.seconds(10)
const refreshEvery = Duration.minutes(5)
const healthDeadline = Duration.millis(2500)

/**
 * Reads `GET /models` at the start, which also opens a connection and checks the key, and again from time to time. A server
 * without that list is healthy when it answers at all.
 */
export const make = (client: OpenAiClient, host: Host): Effect.Effect<ModelList, never, Scope.Scope> =>
  Effect.gen(function* () {
    let names: ReadonlyArray<string> = []
    let logged: string | undefined
    const unhealthy = (reason: string): Health => {
      if (reason !== logged && reason !== client.refused()) host.log.warning(reason)
      logged = reason
      return { healthy: false, reason }
    }
    const read: Effect.Effect<Health> = client
      .json({ method: "GET", path: "/models", retryWithin: Duration.zero })
      .pipe(
        Effect.map((body): Health => {
          const models = decodeModels(body)
          if (models._tag === "Some") names = models.value.data.map(({ id }) => id)
          logged = undefined
          return healthy
        }),
        Effect.catchAll((failure) =>
          Effect.sync(() =>
            failure.status === undefined || failure.status === 401 || failure.status === 403 || failure.status >= 500
              ? unhealthy(failure.reason)
              : healthy
          )
        ),
        Effect.timeoutTo({
          duration: healthDeadline,
          onSuccess: (health) => health,
          onTimeout: () => unhealthy("the server of SVC_OPENAI_BASE_URL does not answer")
        })
      )
    const health = yield* Effect.cachedWithTTL(read, freshFor)
    const first = yield* Effect.forkScoped(health)
    yield* Effect.raceFirst(Fiber.await(first), Effect.sleep(startWait))
    yield* Effect.forkScoped(Effect.forever(Effect.delay(health, refreshEvery)))
    return {
      names: () => names,
      health: Effect.suspend(() => {
        const reason = client.refused()
        return reason === undefined
          ? health
          : Effect.map(health, (state) => (state.healthy ? { healthy: false, reason } : state))
      }),
      warm: Effect.asVoid(health)
    }
  })
