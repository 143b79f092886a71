import { SqlClient } from "@effect/sql/SqlClient"
import type { Health } from "@svc/providers/Health"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer } from "effect"

/**
 * A part of the server and its health; `part` is `database`, or a capability and its place, as `telephony simulated`.
 */
export interface PartHealth {
  readonly part: string
  readonly health: Health
}

/** How long the database may take to answer before it counts as unreachable. */
const databaseTimeout = "2 seconds"

/** The health of the parts that calls need: the database and the plugins. */
export class Readiness extends Context.Tag("@svc/server/Readiness")<
  Readiness,
  {
    /** Checks all parts at once; completes within a few seconds in any case. */
    readonly check: Effect.Effect<ReadonlyArray<PartHealth>>
  }
>() {
  static readonly layer: Layer.Layer<Readiness, never, SqlClient | Providers> = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const providers = yield* Providers

      const database = sql`select 1`.pipe(
        Effect.as<Health>({ healthy: true }),
        Effect.disconnect,
        Effect.timeoutTo({
          duration: databaseTimeout,
          onSuccess: (health: Health) => health,
          onTimeout: (): Health => ({ healthy: false, reason: `does not answer within ${databaseTimeout}` })
        }),
        Effect.catchTag(
          "SqlError",
          (): Effect.Effect<Health> => Effect.succeed({ healthy: false, reason: "cannot be reached" })
        )
      )
      const parts: ReadonlyArray<readonly [string, Effect.Effect<Health>]> = [
        ["database", database],
        ...providers.telephony.map(({ health, id }) => [`telephony ${id}`, health] as const),
        ...numbered("speech-to-text", providers.speechToText),
        ...numbered("text-to-speech", providers.textToSpeech),
        ...numbered("language model", providers.languageModel),
        ...numbered("embedding", providers.embedding === undefined ? [] : [providers.embedding]),
        ...numbered("object store", providers.objectStore === undefined ? [] : [providers.objectStore])
      ]
      return {
        check: Effect.forEach(parts, ([part, health]) => Effect.map(health, (is) => ({ part, health: is })), {
          concurrency: "unbounded"
        })
      }
    })
  )
}

/** Speech providers and models have no names; they are numbered in the order of preference. */
const numbered = (
  kind: string,
  providers: ReadonlyArray<{ readonly health: Effect.Effect<Health> }>
): ReadonlyArray<readonly [string, Effect.Effect<Health>]> =>
  providers.map(({ health }, index) => [providers.length === 1 ? kind : `${kind} ${index + 1}`, health] as const)
