import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { PlaceCallRequest } from "@svc/api/calls/PlaceCall"
import { TransferRequest } from "@svc/api/calls/Transfer"
import { Accounts } from "@svc/auth/Accounts"
import { Billing } from "@svc/billing/Billing"
import { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import { BigDecimal, Effect, Either, Layer, Schema } from "effect"
import { CallControl } from "../../src/live/CallControl.ts"
import { OutboundCalls } from "../../src/live/OutboundCalls.ts"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, Engine, phone, until } from "../doubles/Engine.ts"
import type { Phone } from "../doubles/Phone.ts"

const request = Schema.decodeUnknownSync(PlaceCallRequest)

let numbers = 0

const registered = (behaviour: string, ring_ms = 20) =>
  Effect.map(phone, (callee) => {
    const number = `+1555888${String(1000 + ++numbers)}`
    callee.send({ event: "register", numbers: [number], behaviour, ring_ms })
    return { number, callee }
  })

const script = { otherwise: "You said {{user}}." }

/** An agent with a number, and a function that places its calls. */
const caller = (more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const outbound = yield* OutboundCalls
    const found = yield* agentOnNumber(() => configuration(script, more))
    const place = (to_number: string, change: Readonly<Record<string, unknown>> = {}) =>
      outbound.place(found.owner, request({ agent_id: found.agent.public_id, to_number, ...change }))
    return { ...found, place }
  })

/** The call once it is over. */
const ended = (project: { readonly id: number }, id: string) =>
  Effect.flatMap(Calls, (calls) => until(calls.get(project, id), ({ ended_at }) => ended_at !== null))

const eventsOf = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ readonly event: string }>`select event from events where call_id = ${id} order by seq`, (rows) =>
      rows.flatMap(({ event }) => (event.startsWith("call.") ? [event] : []))
    )
  )

const tagOf = (result: Either.Either<unknown, { readonly _tag: string }>): string =>
  Either.isLeft(result) ? result.left._tag : "placed"

const heard = (callee: Phone, text: string) => callee.next((m) => m.event === "heard" && m.final && m.text === text)

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })(
  "POST /v1/calls",
  (it) => {
    it.scoped("places a call that rings, is answered, and holds a conversation", () =>
      Effect.gen(function* () {
        const { number: from, owner, place, project, server } = yield* caller({ metadata: { b: 2 } })
        const { callee, number } = yield* registered("answer")
        const call = yield* place(number, { metadata: { a: 1 } })
        expect(call).toMatchObject({
          status: "ringing",
          disposition: null,
          from_number: from,
          to_number: number,
          metadata: { a: 1 },
          transcript: []
        })
        expect(yield* callee.until("incoming")).toMatchObject({ from, to: number })
        expect(yield* callee.until("answered")).toEqual({ event: "answered", call_id: call.call_id })
        yield* heard(callee, "Hello.")
        callee.send({ event: "say", text: "Good day" })
        yield* heard(callee, "You said Good day.")
        callee.send({ event: "hangup" })
        const over = yield* ended(project, call.call_id)
        expect(over).toMatchObject({
          status: "completed",
          disposition: "answered",
          ended_reason: "caller-hangup",
          metadata: { a: 1, b: 2 }
        })
        expect(yield* eventsOf(call.call_id)).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(server.received.map(({ body }) => body)).toContainEqual(
          expect.objectContaining({ event: "call.started", from, to: number, call_id: call.call_id })
        )
        expect(yield* Effect.flatMap(Billing, (billing) => billing.liveCalls(owner.org.id))).toBe(0)
      })
    )

    it.scoped("places a call that is not answered and ends with that disposition and call.failed", () =>
      Effect.gen(function* () {
        const { owner, place, project } = yield* caller()
        for (const [behaviour, status, disposition, ended_reason] of [
          ["busy", "busy", "busy", null],
          ["reject", "failed", "failed", "error"]
        ] as const) {
          const { number } = yield* registered(behaviour)
          const { call_id } = yield* place(number)
          expect(yield* ended(project, call_id)).toMatchObject({
            status,
            disposition,
            ended_reason,
            duration_seconds: 0
          })
          expect(yield* eventsOf(call_id)).toEqual(["call.ringing", "call.failed"])
        }
        const unknown = yield* place("+15558880000")
        expect((yield* ended(project, unknown.call_id)).status).toBe("failed")
        const calls = yield* Calls
        const query = { limit: 10, disposition: "busy" } as const
        expect((yield* calls.list(project, query)).calls.map(({ status }) => status)).toEqual(["busy"])
        expect(yield* Effect.flatMap(Billing, (billing) => billing.liveCalls(owner.org.id))).toBe(0)
      })
    )

    it.scoped("refuses premium-rate, satellite and other countries' numbers: nothing is dialled, written or held", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { owner, place, project } = yield* caller()
        const callee = yield* phone
        const own = `+1555889${String(1000 + ++numbers)}`
        const refused = ["+19005550123", "+881612345678", "+31612345678"]
        callee.send({ event: "register", numbers: [own, ...refused], behaviour: "answer", ring_ms: 20 })
        yield* Effect.flatMap(Accounts, (accounts) => accounts.setOutboundCountries(owner.org.id, "US"))
        yield* Effect.flatMap(OutboundNumbers, ({ refresh }) => refresh)
        const reasons = yield* Effect.forEach(refused, (number) => Effect.flip(place(number)))
        expect(reasons).toMatchObject([
          { code: "VALIDATION_ERROR", message: "to_number must not be a premium-rate number" },
          { details: { to_number: "to_number must not be a number of a satellite or international network" } },
          { details: { to_number: "to_number must be a number of a country that may be called (US); it is of NL" } }
        ])
        expect((yield* calls.list(project, { limit: 10 })).calls).toEqual([])
        expect(yield* Effect.flatMap(Billing, (billing) => billing.liveCalls(owner.org.id))).toBe(0)
        const { call_id } = yield* place(own)
        expect(yield* callee.until("incoming")).toMatchObject({ to: own })
        yield* callee.until("answered")
        callee.send({ event: "hangup" })
        yield* ended(project, call_id)
      })
    )

    it("refuses SIP URIs as to_number, and as destination of POST …/transfer", () => {
      const isRefused = (target: string) => [
        Either.isLeft(Schema.decodeUnknownEither(PlaceCallRequest)({ agent_id: 1, to_number: target })),
        Either.isLeft(Schema.decodeUnknownEither(TransferRequest)({ destination: target }))
      ]
      expect(isRefused("+15550001111")).toEqual([false, false])
      for (const target of [
        "sip:+15550001111@192.0.2.1",
        "sips:a@b.example",
        "tel:+15550001111",
        "+15550001111;phone-context=+1"
      ]) {
        expect(isRefused(target)).toEqual([true, true])
      }
    })

    it.scoped("places a ringing call that can be neither ended nor transferred, but is ended with its project", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { owner, place, project } = yield* caller()
        const { callee, number } = yield* registered("no-answer")
        const { call_id } = yield* place(number)
        yield* callee.until("incoming")
        expect(tagOf(yield* Effect.either(calls.end(project, call_id)))).toBe("CallNotInProgress")
        expect(tagOf(yield* Effect.either(calls.transfer(project, call_id, number)))).toBe("CallNotInProgress")
        yield* Effect.flatMap(CallControl, (control) => control.endAllOf([owner.project.id]))
        yield* callee.until("hangup")
        expect((yield* ended(project, call_id)).status).toBe("failed")
      })
    )

    it.scoped("uses the agent's number or from_number, which must belong to the project", () =>
      Effect.gen(function* () {
        const { agent, number: from, place } = yield* caller()
        const other = yield* caller()
        const { number } = yield* registered("busy")
        expect((yield* place(number, { from_number: from })).from_number).toBe(from)
        const refused = yield* Effect.flip(place(number, { from_number: other.number }))
        expect(refused).toMatchObject({ code: "VALIDATION_ERROR", details: { from_number: expect.any(String) } })
        const foreign = yield* Effect.flip(place(number, { agent_id: other.agent.public_id }))
        expect(foreign).toMatchObject({ code: "VALIDATION_ERROR", details: { agent_id: expect.any(String) } })
        expect((yield* place(number, { agent_id: agent.id })).from_number).toBe(from)
        const deep = { a: { b: { c: { d: { e: { f: 1 } } } } } }
        expect(yield* Effect.flip(place(number, { metadata: deep }))).toMatchObject({
          details: { metadata: "metadata must not exceed 5 levels" }
        })
      })
    )

    it.scoped("places 50 concurrent calls", () =>
      Effect.gen(function* () {
        const { owner, place, project } = yield* caller()
        const busy = yield* registered("no-answer")
        const results = yield* Effect.all(
          Array.from({ length: 50 }, () => place(busy.number)),
          { concurrency: "unbounded" }
        )
        expect(new Set(results.map(({ call_id }) => call_id)).size).toBe(50)
        expect(yield* Effect.flatMap(Billing, (billing) => billing.liveCalls(owner.org.id))).toBe(50)
        yield* Effect.flatMap(CallControl, (control) => control.endAllOf([owner.project.id]))
        yield* Effect.forEach(results, ({ call_id }) => ended(project, call_id))
        expect(yield* Effect.flatMap(Billing, (billing) => billing.liveCalls(owner.org.id))).toBe(0)
      })
    )

    it.scoped("without credits or a free slot is refused and writes nothing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const billing = yield* Billing
        const { owner, place } = yield* caller()
        yield* sql`update organizations set tier = 'payg' where id = ${owner.org.id}`
        const { number } = yield* registered("no-answer")
        expect(yield* Effect.flip(place(number))).toMatchObject({ code: "INSUFFICIENT_CREDITS" })
        yield* billing.add(owner.org.id, BigDecimal.fromBigInt(100n))
        const results = yield* Effect.all(
          Array.from({ length: 15 }, () => Effect.either(place(number))),
          { concurrency: "unbounded" }
        )
        expect(results.filter(Either.isRight)).toHaveLength(10)
        expect(new Set(results.map(tagOf))).toEqual(new Set(["placed", "ConcurrentCallLimitExceeded"]))
        expect(yield* sql`select 1 from calls where org_id = ${owner.org.id}`).toHaveLength(10)
        yield* Effect.flatMap(CallControl, (control) => control.endAllOf([owner.project.id]))
        yield* until(billing.liveCalls(owner.org.id), (live) => live === 0)
        expect((yield* billing.account(owner.org.id)).balance_eur).toBe(100)
      })
    )
  }
)
