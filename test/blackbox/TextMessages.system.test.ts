import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import { freshNumber } from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as TextNetwork from "../src/blackbox/TextNetwork.ts"
import { environmentOf, messages, networks } from "../src/blackbox/TextNetwork.ts"

const to = "+31612345678"
const unknown = "it is not known whether the message was sent"
it.scopedLive(
  "text messages of a killed server are ended by another and by the next start, none is delivered twice",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const texts = yield* TextNetwork.start
      const keys = yield* ServerProcess.newKeys
      const options: ServerProcess.ServerOptions = {
        data: { url: database },
        keys,
        env: {
          ...environmentOf(texts.url),
          SVC_BOOTSTRAP_TIER: "payg",
          SVC_BOOTSTRAP_CREDITS: "10"
        }
      }
      const [one, other] = yield* Effect.all([ServerProcess.start(options), ServerProcess.start(options)], {
        concurrency: 2
      })
      const from = new Map<string, string>()
      for (const telephony of networks) {
        const number = freshNumber()
        expect((yield* one.api.post("/v1/phone-numbers/import", { number, telephony })).status).toBe(201)
        from.set(telephony, number)
      }
      const send = (server: ServerProcess.ServerProcess, telephony: string, message: string) =>
        server.api.post("/v1/sms/send", { from_number: from.get(telephony), to, message })

      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const states = ["unsent", "unanswered", "unrecorded"]
        yield* Effect.forkScoped(
          Effect.forEach(
            networks.flatMap((telephony) => states.map((state) => ({ telephony, state }))),
            ({ state, telephony }) => Effect.exit(send(one, telephony, state)),
            { concurrency: "unbounded" }
          )
        )
        // One that hangs on the other server, which lives on.
        const hanging = yield* Effect.forkScoped(
          Effect.forEach(networks, (telephony) => send(other, telephony, "unanswered at other"), { concurrency: 2 })
        )
        const all = Effect.sync(() => [
          texts.got("prepare", "unsent"),
          texts.got("send", "unanswered"),
          texts.answers.size,
          texts.got("send", "unanswered at other")
        ])
        yield* eventually("the messages", all, (counts) => counts.every((n) => n === 2))

        // The network answers, and the outcome waits for a lock while the server is killed.
        const locked = yield* Deferred.make<void>()
        const killed = yield* Deferred.make<void>()
        const lock = yield* Effect.forkScoped(
          sql`select 1 from sms_messages where message = 'unrecorded' for update`.pipe(
            Effect.zipRight(Deferred.succeed(locked, undefined)),
            Effect.zipRight(Deferred.await(killed)),
            sql.withTransaction
          )
        )
        yield* Deferred.await(locked)
        for (const answer of texts.answers.values()) answer()
        const waiting = sql<{ readonly n: number }>`
          select count(*) as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%update sms_messages%'`
        yield* eventually("the locks", waiting, ([row]) => row?.n === 2)
        yield* one.signal("SIGKILL")
        expect((yield* one.exit()).signal).toBe("SIGKILL")
        yield* Deferred.succeed(killed, undefined)
        yield* Fiber.join(lock)

        // The client of the living server gets its answer, or why there is none.
        const [once, often] = yield* Fiber.join(hanging)
        expect([once?.status, often?.status]).toEqual([200, 422])
        expect(often?.body).toMatchObject({ code: "SMS_FAILED" })
        expect(textAt(often?.body, "message")).toMatch(new RegExp(`^${unknown}: texts-often: did not accept`))

        const ended = yield* eventually("the outcomes", messages, (rows) =>
          rows.every(({ status }) => status !== "sending")
        )
        expect(ended).toHaveLength(8)
        for (const { error, events, message, public_id, status, telephony } of ended) {
          const times = texts.delivered.filter((id) => id === public_id).length
          const isOnce = telephony === "texts-once"
          const isDelivered = isOnce || message !== "unsent"
          expect([telephony, message, status, events, times]).toEqual([
            telephony,
            message,
            isOnce ? "sent" : "failed",
            1,
            isDelivered ? 1 : 0
          ])
          if (!isOnce) expect(error).toMatch(new RegExp(`^${unknown}: `))
        }
        const { body } = yield* other.api.get("/v1/usage")
        expect([at(body, "totals.sms_count"), at(body, "totals.sms_cost")]).toEqual([4, 0.36])
        expect(at((yield* other.api.get("/v1/credits")).body, "balance_eur")).toBe(9.64)

        // Nobody is left; the next start ends the message.
        yield* Effect.forkScoped(Effect.exit(send(other, "texts-once", "unanswered by all")))
        yield* eventually(
          "the last",
          Effect.sync(() => texts.got("send", "unanswered by all")),
          (n) => n === 1
        )
        yield* other.signal("SIGKILL")
        yield* other.exit()
        yield* ServerProcess.start(options)
        const last = yield* eventually("the outcome", messages, (rows) => rows.at(-1)?.status !== "sending")
        expect(last.at(-1)).toMatchObject({ message: "unanswered by all", status: "sent", events: 1 })
        expect(texts.delivered.filter((id) => id === last.at(-1)?.public_id)).toHaveLength(1)
      }).pipe(Effect.provide(pool(Redacted.value(database), 3)))
    }),
  { concurrent: true, timeout: 120_000 }
)
