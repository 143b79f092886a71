import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Holds } from "@svc/billing/Holds"
import { Deferred, Effect, Either, Fiber } from "effect"
import { Sms } from "../src/Sms.ts"
import { SmsRepo } from "../src/SmsRepo.ts"
import { account, books, network, project, Test } from "./Fixture.ts"

const to = "+31612345678"
const held = ["sms_hold -0.09", "sms_hold_release 0.09", "sms -0.09"]

/** Lets the network take a message only when `taken` completes; `asked` completes when it has the first. */
const slowNetwork = Effect.gen(function* () {
  const asked = yield* Deferred.make<void>()
  const taken = yield* Deferred.make<void>()
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      network.take = () => Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(taken))
    }),
    () =>
      Effect.sync(() => {
        network.take = () => Effect.void
      })
  )
  return { asked: Deferred.await(asked), taken: Deferred.succeed(taken, undefined) }
})

layer(Test, { timeout: "60 seconds" })("The cost of a text message", (it) => {
  it.effect(
    "is held before it is sent: of 149 at once with 0.20 EUR the price of 0.09 allows 2, the rest are 402",
    () =>
      Effect.gen(function* () {
        const sms = yield* Sms
        const { number, owner } = yield* project("payg", "texting", "0.2")
        const before = network.sent.length
        const results = yield* Effect.replicateEffect(
          Effect.either(sms.send(owner, { from_number: number, to, message: "Hi" })),
          149,
          { concurrency: "unbounded" }
        )
        expect(results.filter(Either.isRight)).toHaveLength(2)
        const refused = results.filter(Either.isLeft).map(({ left }) => left.code)
        expect(refused).toEqual(Array.from({ length: 147 }, () => "INSUFFICIENT_CREDITS"))
        expect(network.sent.length).toBe(before + 2)
        const { entries, ...totals } = yield* account(owner.org.id)
        expect(entries.toSorted()).toEqual([...held, ...held].toSorted())
        expect(totals).toEqual({ balance: 0.02, sum: 0.02, least: 0.02 })
        expect(yield* books(owner.org.id)).toMatchObject({ used: [[2, 0.18]], events: [{}, {}] })
        const sql = yield* SqlClient.SqlClient
        expect(yield* sql`select 1 from sms_messages where org_id = ${owner.org.id}`).toHaveLength(2)
      })
  )

  it.effect("is given back when the network refuses the message, for the next one", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { number, owner } = yield* project("payg", "texting", "0.09")
      const send = (receiver: string) => sms.send(owner, { from_number: number, to: receiver, message: "Hi" })
      for (let i = 0; i < 2; i++) expect(yield* Effect.flip(send("+31612340000"))).toMatchObject({ code: "SMS_FAILED" })
      expect(yield* send(to)).toMatchObject({ status: "sent", cost_eur: 0.09 })
      expect(yield* Effect.flip(send(to))).toMatchObject({ code: "INSUFFICIENT_CREDITS" })
      expect(yield* account(owner.org.id)).toEqual({
        entries: ["sms_hold -0.09", "sms_hold_release 0.09", "sms_hold -0.09", "sms_hold_release 0.09", ...held],
        balance: 0,
        sum: 0,
        least: 0
      })
    })
  )

  it.effect("of all its parts is held: a message of two parts is refused with the credits for one", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { number, owner } = yield* project("payg", "texting", "0.17")
      const error = yield* Effect.flip(sms.send(owner, { from_number: number, to, message: "€".repeat(100) }))
      expect(error).toMatchObject({
        code: "INSUFFICIENT_CREDITS",
        message: "This costs 0.18 EUR, more than the account's credits; add credits and try again"
      })
      expect((yield* account(owner.org.id)).entries).toEqual([])
    })
  )

  it.effect(
    "is held in a call too: without credits the tool gets the reason, and after a top-up the message is sent",
    () =>
      Effect.gen(function* () {
        const sms = yield* Sms
        const sql = yield* SqlClient.SqlClient
        const line = yield* project("payg", "texting", "0.05")
        const call = {
          call_id: yield* newCallId,
          from: to,
          numbers: [to, line.number],
          org_id: line.owner.org.id,
          project_id: line.owner.project.id,
          agent: line.agent,
          id: "t1",
          to,
          message: "Hi",
          sender_name: null
        }
        const refused = yield* Effect.replicateEffect(Effect.flip(sms.sendInCall(call)), 3, {
          concurrency: "unbounded"
        })
        for (const { reason } of refused) expect(reason).toBe("the account has too few credits for the message")
        expect(yield* books(line.owner.org.id)).toEqual({ events: [], charged: [], used: [] })
        yield* sql`
        insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after)
        values (${line.owner.org.id}, 'top_up', 'more', 1, 1.05)`
        expect(yield* sms.sendInCall(call)).toMatchObject({ status: "sent" })
        expect(yield* account(line.owner.org.id)).toMatchObject({ entries: held, balance: 0.96 })
      })
  )

  it.scoped("is charged once although others finish the message of a process that seems dead", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const holds = yield* Holds
      const repo = yield* SmsRepo
      const sql = yield* SqlClient.SqlClient
      const { number, owner } = yield* project("payg", "texting", "1")
      const { asked, taken } = yield* slowNetwork
      const sending = yield* Effect.fork(sms.send(owner, { from_number: number, to, message: "Hi" }))
      yield* asked
      // What a process that dies now leaves behind: the row, and its hold.
      const rows = yield* sql<{ readonly public_id: string; readonly status: string }>`
        select public_id, status from sms_messages where org_id = ${owner.org.id}`
      expect(rows.map(({ status }) => status)).toEqual(["sending"])
      expect(yield* account(owner.org.id)).toMatchObject({ entries: ["sms_hold -0.09"], balance: 0.91 })
      const public_id = rows[0]?.public_id ?? ""
      const finish = Effect.gen(function* () {
        const outcome = { status: "failed", error: "unknown", provider_message_id: null, cost_eur: null } as const
        if (!(yield* repo.finish(public_id, outcome))) return false
        return yield* holds.release({ org_id: owner.org.id, kind: "sms", reference: public_id })
      }).pipe(sql.withTransaction)
      const first = yield* Effect.replicateEffect(finish, 4, { concurrency: "unbounded" })
      expect(first.filter((done) => done)).toHaveLength(1)
      yield* taken
      // The late answer changes nothing, and the client gets the outcome that was recorded.
      expect(yield* Effect.flip(Fiber.join(sending))).toMatchObject({ code: "SMS_FAILED", message: "unknown" })
      expect(yield* account(owner.org.id)).toMatchObject({
        entries: ["sms_hold -0.09", "sms_hold_release 0.09"],
        balance: 1
      })
      expect((yield* books(owner.org.id)).used).toEqual([])
    })
  )

  it.effect("is 0 on tier enterprise, which needs no credits", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { number, owner } = yield* project("enterprise", "texting", "0")
      expect(yield* sms.send(owner, { from_number: number, to, message: "Hi" })).toMatchObject({ cost_eur: 0 })
      expect((yield* account(owner.org.id)).entries).toEqual([])
    })
  )
})
