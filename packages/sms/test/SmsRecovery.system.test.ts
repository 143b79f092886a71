import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { SmsFailed } from "@svc/providers/Messaging"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { Sms } from "../src/Sms.ts"
import { SmsDispatch } from "../src/SmsDispatch.ts"
import { SmsRecoveryWorker } from "../src/SmsRecoveryWorker.ts"
import { type NewSms, SmsRepo } from "../src/SmsRepo.ts"
import { account, books, network, project, Test } from "./Fixture.ts"

const to = "+31612345678"
const unknown = "it is not known whether the message was sent"

/** A node with a real lease that settles dead nodes as soon as it has started. */
const startSurvivor = Layer.build(
  SmsRecoveryWorker.pipe(
    Layer.provide(DueCheck.layer),
    Layer.provide(NodeLease.layer),
    Layer.provide(Layer.succeed(Database, { exclusive: true, displayName: "a test database" }))
  )
)

let made = 0

type Line = Effect.Effect.Success<ReturnType<typeof project>>

/** What a process leaves that dies before it has recorded the network's answer: the row, and its hold. */
const leave = (line: Line, more: Partial<NewSms> = {}, columns: { readonly [column: string]: unknown } = {}) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const dispatch = yield* SmsDispatch
    made += 1
    const node = `node_dead_${made}`
    const public_id = `sms_${String(made).padStart(24, "0")}`
    const org_id = line.owner.org.id
    yield* sql`insert into nodes (id, expires_at) values (${node}, now() + interval '5 seconds')`
    yield* dispatch.begin({
      public_id,
      org_id,
      project_id: line.owner.project.id,
      agent_id: line.agent.id,
      agent_public_id: line.agent.public_id,
      call_id: null,
      caller_number: null,
      reference: public_id,
      to_number: to,
      from_number: line.number,
      sender_name: null,
      sender_type: "number",
      message: "Hi",
      segments: 1,
      number: line.number,
      telephony: "once",
      price_eur: "0.09",
      node,
      ...more
    })
    if (Object.keys(columns).length > 0)
      yield* sql`update sms_messages set ${sql.update(columns)} where public_id = ${public_id}`
    return public_id
  })

const row = (public_id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly status: string; readonly error: string | null; readonly node: string }>`
      select status, error, node from sms_messages where public_id = ${public_id}`
  ).pipe(Effect.map(([found]) => found))

/** Waits until the message has an outcome. */
const ended = (public_id: string) =>
  Effect.repeat(Effect.zipRight(Effect.sleep("20 millis"), row(public_id)), {
    until: (found) => found !== undefined && found.status !== "sending"
  })

/** The messages that the network got with this id. */
const sentAs = (public_id: string) => network.sent.filter(({ id }) => id === public_id)

layer(Test, { excludeTestServices: true, timeout: "60 seconds" })("The text message of a dead node", (it) => {
  it.scoped("is sent again with its id where the network delivers an id once: status, cost, usage, one event", () =>
    Effect.gen(function* () {
      const line = yield* project("payg", "once")
      const call_id = yield* newCallId
      const id = yield* leave(line, { call_id, caller_number: to })
      yield* startSurvivor
      expect(yield* ended(id)).toMatchObject({ status: "sent", error: null })
      expect(sentAs(id)).toEqual([{ id, to, from: line.number, sender_type: "number", message: "Hi" }])
      expect(yield* books(line.owner.org.id)).toEqual({
        events: [
          {
            call_id,
            agent_id: line.agent.public_id,
            from: to,
            to,
            from_number: line.number,
            sender_name: null,
            message: "Hi",
            sender_type: "number",
            provider_message_id: expect.stringMatching(/^carrier-/),
            cost_eur: 0.09,
            status: "sent"
          }
        ],
        charged: [-0.09],
        used: [[1, 0.09]]
      })
      expect(yield* account(line.owner.org.id)).toMatchObject({
        entries: ["sms_hold -0.09", "sms_hold_release 0.09", "sms -0.09"],
        balance: 9.91
      })
    })
  )

  it.scoped("has failed if the network refuses it then", () =>
    Effect.gen(function* () {
      const line = yield* project("payg", "once")
      const id = yield* leave(line, { to_number: "+31612340000" })
      yield* startSurvivor
      expect(yield* ended(id)).toMatchObject({ status: "failed", error: "refused by the network" })
      expect(yield* account(line.owner.org.id)).toMatchObject({ balance: 10 })
    })
  )

  it.scoped("is not sent again, has failed and costs nothing where it could be delivered twice, or to no purpose", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const hours = (n: number) => new Date(Date.now() - n * 3_600_000)
      const cases: ReadonlyArray<[string, Partial<NewSms>, { readonly [column: string]: unknown }]> = [
        ["the server stopped before the network answered", { telephony: "texting" }, {}],
        ["the telephony plugin gone is not loaded", { telephony: "gone" }, {}],
        ["the telephony plugin mute sends no messages", { telephony: "mute" }, {}],
        ["the server stopped, and it is too late to send it again", {}, { created_at: hours(2) }],
        // The third node that takes it over may be the third that it kills.
        ["the server stopped before the network answered", {}, { takeovers: 3 }],
        // Of a server of an earlier version.
        ["the server stopped before the network answered", {}, { node: null, price_eur: null, created_at: hours(0.1) }],
        ["the server stopped, and +12025550000 is no longer a number of the project", { number: "+12025550000" }, {}]
      ]
      for (const [why, more, columns] of cases) {
        const line = yield* project("payg", "once")
        const id = yield* leave(line, more, columns)
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* startSurvivor
            expect(yield* ended(id)).toMatchObject({ status: "failed", error: `${unknown}: ${why}` })
          })
        )
        expect(sentAs(id)).toEqual([])
        expect(yield* books(line.owner.org.id)).toMatchObject({
          events: [{ status: "failed", cost_eur: null, provider_message_id: null }],
          charged: [],
          used: []
        })
        expect(yield* account(line.owner.org.id)).toMatchObject({
          entries: ["sms_hold -0.09", "sms_hold_release 0.09"],
          balance: 10
        })
      }
      expect(yield* sql`select 1 from sms_messages where status = 'sending'`).toEqual([])
    })
  )

  it.scoped("is not sent again when its number was released, though a name was its sender", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const line = yield* project("payg", "once")
      const id = yield* leave(line, { from_number: null, sender_name: "Shop", sender_type: "alphanumeric" })
      yield* sql`update phone_numbers set status = 'released' where number = ${line.number}`
      yield* startSurvivor
      expect((yield* ended(id))?.error).toContain("is no longer a number of the project")
      expect(sentAs(id)).toEqual([])
    })
  )

  it.scoped("is taken over by one of several nodes, and that of a living node by none", () =>
    Effect.gen(function* () {
      const repo = yield* SmsRepo
      const sql = yield* SqlClient.SqlClient
      const line = yield* project("payg", "once")
      const living = yield* leave(line)
      expect(yield* repo.claimLost("node_a", [])).toEqual([])
      yield* sql`update nodes set settled = array['sms.messages'], dead_at = now() where id = (
        select node from sms_messages where public_id = ${living})`
      yield* sql`
        insert into nodes (id, expires_at) select 'node_' || n, now() + interval '1 hour' from generate_series(0, 7) n`
      const claims = yield* Effect.all(
        Array.from({ length: 8 }, (_, n) => repo.claimLost(`node_${n}`, [])),
        { concurrency: "unbounded" }
      )
      expect(claims.flat().map(({ public_id }) => public_id)).toEqual([living])
      // Its new node has an insert without an answer only after a while, and none that it holds.
      const node = (yield* row(living))?.node ?? ""
      expect(yield* repo.claimLost(node, [])).toEqual([])
      yield* sql`update sms_messages set created_at = now() - interval '2 minutes' where public_id = ${living}`
      const { oldest_seconds, pending } = yield* repo.backlog
      expect([pending, oldest_seconds >= 120 && oldest_seconds < 180]).toEqual([1, true])
      expect(yield* repo.claimLost(node, [living])).toEqual([])
      expect(yield* repo.claimLost("node_other", [])).toEqual([])
      expect(yield* repo.claimLost(node, [])).toHaveLength(1)
      yield* sql`update sms_messages set status = 'failed' where public_id = ${living}`
    })
  )
})

layer(Test, { excludeTestServices: true, timeout: "60 seconds" })("A text message whose answer is lost", (it) => {
  const lost = new SmsFailed({ reason: "no answer", mayBeSent: true })
  /** The network loses its first answers. */
  const losing = (answers: number) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        let left = answers
        network.take = () => Effect.suspend(() => (left-- > 0 ? Effect.fail(lost) : Effect.void))
      }),
      () =>
        Effect.sync(() => {
          network.take = () => Effect.void
        })
    )

  it.scoped("is sent once more with its id where the network delivers an id once", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const line = yield* project("payg", "once")
      yield* losing(1)
      const sent = yield* sms.send(line.owner, { from_number: line.number, to, message: "Hi" })
      expect(sent.status).toBe("sent")
      expect(sentAs(sent.message_id)).toHaveLength(2)
      expect(yield* books(line.owner.org.id)).toMatchObject({ events: [{ status: "sent" }], charged: [-0.09] })
    })
  )

  it.scoped("has failed with a reason that says so, elsewhere at once", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      for (const [telephony, times] of [
        ["once", 2],
        ["texting", 1]
      ] as const) {
        const line = yield* project("payg", telephony)
        const before = network.sent.length
        yield* losing(9)
        expect(yield* Effect.flip(sms.send(line.owner, { from_number: line.number, to, message: "Hi" }))).toMatchObject(
          { code: "SMS_FAILED", message: `${unknown}: no answer` }
        )
        expect(network.sent.length - before).toBe(times)
        expect(yield* books(line.owner.org.id)).toMatchObject({ events: [{ status: "failed" }], charged: [], used: [] })
      }
    })
  )

  it.scoped("and that another node has taken over is left to that node", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const sql = yield* SqlClient.SqlClient
      const line = yield* project("payg", "texting")
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<void, SmsFailed>()
      network.take = () => Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(answer))
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          network.take = () => Effect.void
        })
      )
      const sending = yield* Effect.fork(sms.send(line.owner, { from_number: line.number, to, message: "Hi" }))
      yield* Deferred.await(asked)
      yield* sql`update sms_messages set node = 'node_other' where org_id = ${line.owner.org.id}`
      yield* Deferred.fail(answer, lost)
      expect(yield* Effect.flip(Fiber.join(sending))).toMatchObject({ code: "SMS_FAILED", message: unknown })
      expect(yield* books(line.owner.org.id)).toEqual({ events: [], charged: [], used: [] })
    })
  )
})

layer(Test)("A text message of a project that is being deleted", (it) => {
  it.effect("is not stored and not sent", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const sql = yield* SqlClient.SqlClient
      const line = yield* project()
      const before = network.sent.length
      yield* sql`update projects set deleted_at = now() where id = ${line.owner.project.id}`
      const exit = yield* Effect.exit(sms.send(line.owner, { from_number: line.number, to, message: "Hi" }))
      expect(JSON.stringify(exit)).toContain("live_project")
      expect(network.sent.length).toBe(before)
      expect((yield* account(line.owner.org.id)).entries).toEqual([])
    })
  )
})
