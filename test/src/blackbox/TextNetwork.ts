import { SqlClient } from "@effect/sql"
import { Effect, type Scope } from "effect"
import * as CustomerServer from "./CustomerServer.ts"
import type { Environment } from "./SvcProcess.ts"

/** The telephony plugins of the network: `texts-once` delivers a message once per id, `texts-often` each time. */
export const networks = ["texts-once", "texts-often"] as const

/** The environment of a server with the plugins of a network at this URL. */
export const environmentOf = (url: string): Environment => ({
  SVC_PLUGINS: [
    "@svc/plugin-simulated",
    ...["TextsOnce", "TextsOften"].map((name) => `./test/src/blackbox/plugins/${name}.mjs`)
  ].join(","),
  SVC_TEXTS_ONCE_URL: url,
  SVC_TEXTS_OFTEN_URL: url
})

export interface TextNetwork extends CustomerServer.CustomerServer {
  /** The ids of the messages that receivers have got, repetitions too. */
  readonly delivered: ReadonlyArray<string>
  /** By id: gives the answer to a message whose text begins with `unrecorded`. */
  readonly answers: ReadonlyMap<string, () => void>
  /** How often a message with this text came. */
  readonly got: (event: string, message: string) => number
}

/** A network that loses the first answer to a message, at the point that the beginning of the message's text names. */
export const start: Effect.Effect<TextNetwork, never, Scope.Scope> = Effect.gen(function* () {
  const delivered: Array<string> = []
  const answers = new Map<string, () => void>()
  const seen = new Set<string>()
  const server = yield* CustomerServer.start(({ body, event }) => {
    const [id, message] = [String(body["id"]), String(body["message"])]
    const isFirst = !seen.has(`${event} ${id}`)
    seen.add(`${event} ${id}`)
    if (event === "prepare") return isFirst && message.startsWith("unsent") ? undefined : { json: {} }
    if (body["telephony"] === "texts-often" || isFirst) delivered.push(id)
    if (isFirst && message.startsWith("unanswered")) return undefined
    if (isFirst && message.startsWith("unrecorded"))
      return {
        write: (response) =>
          answers.set(id, () => {
            answers.delete(id)
            CustomerServer.reply(response, { id: `net-${id}` })
          })
      }
    return { json: { id: `net-${id}` } }
  })
  const got = (event: string, message: string) =>
    server.of(event).filter(({ body }) => body["message"] === message).length
  return { ...server, delivered, answers, got }
})

/** A stored message. */
export interface StoredMessage {
  readonly public_id: string
  readonly telephony: string
  readonly message: string
  readonly status: string
  readonly error: string | null
  /** The number of `sms.sent` events with its text, sender and status. */
  readonly events: number
}

/** All messages, oldest first. */
export const messages: Effect.Effect<ReadonlyArray<StoredMessage>, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<StoredMessage>`
    select m.public_id, m.telephony, m.message, m.status, m.error,
      (select count(*) from events e where e.event = 'sms.sent' and e.data->>'message' = m.message
        and e.data->>'from_number' = m.from_number and e.data->>'status' = m.status) as events
    from sms_messages m order by m.id`
).pipe(Effect.orDie)

/** The leases of ended servers whose messages others take over. */
export const takenOver: Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly id: string }>`select id from nodes where 'sms.messages' = any(settled)`
).pipe(
  Effect.map((rows) => rows.map(({ id }) => id)),
  Effect.orDie
)
