import { SqlClient } from "@effect/sql/SqlClient"
import type { Health } from "@svc/providers/Health"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer } from "effect"

/** A part of the server and how it is; `part` is `database`, or a capability and its place, as `telephony simulated`. */
export interface PartHealth {
  readonly part: string
  readonly health: Health
}

/** How long the database may take to answer before it counts as unreachable. */
const patience = "2 seconds"

/** Whether the parts without which no call can be taken are there: the database and the plugins (decisions §2.10). */
export class Readiness extends Context.Tag("@svc/server/Readiness")<
  Readiness,
  {
    /** Asks all parts at once; answers within a few seconds whatever they do. */
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
          duration: patience,
          onSuccess: (health: Health) => health,
          onTimeout: (): Health => ({ healthy: false, reason: `does not answer within ${patience}` })
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
        ...numbered("language model", providers.languageModel)
      ]
      return {
        check: Effect.forEach(parts, ([part, health]) => Effect.map(health, (is) => ({ part, health: is })), {
          concurrency: "unbounded"
        })
      }
    })
  )
}

/** Speech and models have no names of their own; the order of preference tells them apart. */
const numbered = (
  kind: string,
  providers: ReadonlyArray<{ readonly health: Effect.Effect<Health> }>
): ReadonlyArray<readonly [string, Effect.Effect<Health>]> =>
  providers.map(({ health }, index) => [providers.length === 1 ? kind : `${kind} ${index + 1}`, health] as const)
