import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { Deferred, Effect, Fiber } from "effect"
import { Sms, type SmsOfCall } from "../src/Sms.ts"
import { account, books, network, project, Test } from "./Fixture.ts"

/** A message of a call of the agent. */
const inCall = (line: Effect.Effect.Success<ReturnType<typeof project>>, more: Partial<SmsOfCall> = {}) =>
  Effect.map(
    newCallId,
    (call_id): SmsOfCall => ({
      call_id,
      from: "+31612345678",
      numbers: ["+31612345678", line.number],
      org_id: line.owner.org.id,
      project_id: line.owner.project.id,
      agent: line.agent,
      id: "t1",
      to: "+31612345678",
      message: "Your table is booked.",
      sender_name: null,
      ...more
    })
  )

layer(Test)("A text message", (it) => {
  it.effect("of the API is sent, charged and counted, and emits sms.sent", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { agent, number, owner } = yield* project("payg")
      const sent = yield* sms.send(owner, { from_number: number, to: "+12025550123", message: "€".repeat(100) })
      expect(sent).toEqual({
        message_id: expect.stringMatching(/^sms_[0-9a-z]{24}$/),
        status: "sent",
        from_number: number,
        sender_name: null,
        sender_type: "number",
        to: "+12025550123",
        cost_eur: 0.18,
        provider_message_id: expect.stringMatching(/^carrier-/)
      })
      expect(network.sent.at(-1)).toEqual({
        id: sent.message_id,
        to: "+12025550123",
        from: number,
        sender_type: "number",
        message: "€".repeat(100)
      })
      const { message_id: _, ...outcome } = sent
      expect(yield* books(owner.org.id)).toEqual({
        events: [{ ...outcome, call_id: null, agent_id: agent.public_id, from: null, message: "€".repeat(100) }],
        charged: [-0.18],
        used: [[1, 0.18]]
      })
    })
  )

  it.effect("has sender_name as its sender if the receiver's country allows it, or else the number", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { number, owner } = yield* project("enterprise")
      const send = (to: string) => sms.send(owner, { from_number: number, to, message: "Hi", sender_name: " Shop " })
      expect(yield* send("+31612345678")).toMatchObject({
        sender_type: "alphanumeric",
        sender_name: "Shop",
        from_number: null,
        cost_eur: 0
      })
      expect(network.sent.at(-1)).toMatchObject({ from: "Shop", sender_type: "alphanumeric" })
      expect(yield* send("+12025550123")).toMatchObject({
        sender_type: "number",
        sender_name: null,
        from_number: number
      })
      expect(yield* books(owner.org.id)).toMatchObject({ charged: [], used: [[2, 0]] })
    })
  )

  it.effect("that the network refuses costs nothing, and emits sms.sent with status failed", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const { number, owner } = yield* project()
      const error = yield* Effect.flip(sms.send(owner, { from_number: number, to: "+31612340000", message: "Hi" }))
      expect(error).toMatchObject({ code: "SMS_FAILED", message: "refused by the network" })
      expect(yield* books(owner.org.id)).toMatchObject({
        events: [{ status: "failed", cost_eur: null, provider_message_id: null, to: "+31612340000" }],
        charged: [],
        used: []
      })
    })
  )

  it.effect("from a number of another project, or of a plugin without sms, is not sent", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const mine = yield* project()
      const other = yield* project("payg", "mute")
      const body = { from_number: other.number, to: "+31612345678", message: "Hi" }
      const before = network.sent.length
      expect(yield* Effect.flip(sms.send(mine.owner, body))).toMatchObject({
        code: "VALIDATION_ERROR",
        details: { from_number: "from_number must be a phone number of this project" }
      })
      expect(yield* Effect.flip(sms.send(other.owner, body))).toMatchObject({ code: "SMS_FAILED" })
      expect(network.sent.length).toBe(before)
    })
  )

  it.effect("to a premium-rate number is not sent, by the API or in a call", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const line = yield* project()
      const before = network.sent.length
      for (const to of ["+19005550123", "+31900123456"]) {
        const body = { from_number: line.number, to, message: "Hi" }
        const reason = "to must not be a premium-rate number"
        expect(yield* Effect.flip(sms.send(line.owner, body))).toMatchObject({ details: { to: reason } })
        expect(yield* Effect.flip(sms.sendInCall(yield* inCall(line, { to })))).toMatchObject({ reason })
      }
      expect(network.sent.length).toBe(before)
    })
  )

  it.effect("to a country that the organization may not text is not sent and costs nothing", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const line = yield* project()
      const before = network.sent.length
      const credits = yield* account(line.owner.org.id)
      yield* Effect.flatMap(Accounts, (accounts) => accounts.setOutboundCountries(line.owner.org.id, "US"))
      yield* Effect.flatMap(OutboundNumbers, ({ refresh }) => refresh)
      const to = "+31612345678"
      const reason = "to must be a number of a country that may be called (US); it is of NL"
      expect(yield* Effect.flip(sms.send(line.owner, { from_number: line.number, to, message: "Hi" }))).toMatchObject({
        code: "VALIDATION_ERROR",
        details: { to: reason }
      })
      expect(yield* Effect.flip(sms.sendInCall(yield* inCall(line, { to })))).toMatchObject({ reason })
      expect(network.sent.length).toBe(before)
      expect(yield* account(line.owner.org.id)).toEqual(credits)
      yield* sms.send(line.owner, { from_number: line.number, to: "+12025550143", message: "Hi" })
      expect(network.sent.length).toBe(before + 1)
    })
  )

  it.effect("of a call is sent from the agent's number in the call, or else from the agent's first number", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const numbers = yield* PhoneNumbers
      const line = yield* project()
      const second = yield* numbers.import(line.owner, { number: `${line.number}9`, telephony: "texting" })
      yield* numbers.assign(line.owner.project, String(second.id), line.agent.public_id)
      expect(yield* sms.sendInCall(yield* inCall(line, { numbers: [second.number, "+31612345678"] }))).toMatchObject({
        from_number: second.number
      })
      const call = yield* inCall(line, { numbers: ["+12025559999", null] })
      expect(yield* sms.sendInCall(call)).toMatchObject({ from_number: line.number })
      expect((yield* books(line.owner.org.id)).events.at(-1)).toMatchObject({ call_id: call.call_id, from: call.from })
    })
  )

  it.effect("of an agent without a number is not sent", () =>
    Effect.gen(function* () {
      const line = yield* project()
      const call = yield* inCall({ ...line, agent: { ...line.agent, id: 999_999 } })
      expect(yield* Effect.flip(Effect.flatMap(Sms, (sms) => sms.sendInCall(call)))).toMatchObject({
        _tag: "SmsUnsent",
        reason: "the agent has no phone number to send from"
      })
      expect((yield* books(line.owner.org.id)).events).toEqual([])
    })
  )

  it.effect("requested fifty times concurrently, and again later, with one id in a call is sent once", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const line = yield* project()
      const call = yield* inCall(line)
      const before = network.sent.length
      const all = yield* Effect.all(
        Array.from({ length: 50 }, () => sms.sendInCall(call)),
        { concurrency: "unbounded" }
      )
      const later = yield* sms.sendInCall(call)
      expect(new Set([...all, later].map(({ message_id }) => message_id)).size).toBe(1)
      expect(network.sent.length).toBe(before + 1)
      expect(yield* books(line.owner.org.id)).toMatchObject({ events: [{ status: "sent" }], charged: [-0.09] })
    })
  )

  it.effect("is charged although its caller was interrupted", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const line = yield* project()
      const taken = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      network.take = () => Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(taken))
      const call = yield* inCall(line)
      const waiting = yield* Effect.fork(sms.sendInCall(call))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(waiting)
      network.take = () => Effect.void
      const again = yield* Effect.fork(sms.sendInCall(call))
      yield* Deferred.succeed(taken, undefined)
      expect(yield* Fiber.join(again)).toMatchObject({ status: "sent" })
      expect((yield* books(line.owner.org.id)).charged).toEqual([-0.09])
    })
  )

  it.effect("whose process died before the outcome was stored is not sent again", () =>
    Effect.gen(function* () {
      const sms = yield* Sms
      const sql = yield* SqlClient.SqlClient
      const line = yield* project()
      const call = yield* inCall(line)
      const { message_id } = yield* sms.sendInCall(call)
      yield* sql`update sms_messages set status = 'sending' where public_id = ${message_id}`
      const before = network.sent.length
      expect(yield* Effect.flip(sms.sendInCall(call))).toMatchObject({
        reason: "it is not known whether the message was sent"
      })
      expect(network.sent.length).toBe(before)
    })
  )
})
