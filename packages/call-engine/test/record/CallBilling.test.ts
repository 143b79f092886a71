import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import type { Tier } from "@svc/api/Principal"
import { Billing } from "@svc/billing/Billing"
import { Usage } from "@svc/billing/Usage"
import { BigDecimal, Effect, Layer } from "effect"
import { Recovery } from "../../src/live/Recovery.ts"
import { Calls } from "../../src/record/Calls.ts"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { agentOnNumber, Base, configuration, dial, Engine, phone, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const script = { rules: [{ user: "bye", say: "Bye.", tool: "end_call" }], otherwise: "You said {{user}}." }

/** An agent on a number, of an organization with this tier and balance. */
const agentWith = (tier: Tier, eur: string) =>
  Effect.gen(function* () {
    const billing = yield* Billing
    const sql = yield* SqlClient.SqlClient
    const made = yield* agentOnNumber((request) =>
      request.event === "call.started" ? configuration(script) : { json: {} }
    )
    const [row] = yield* sql<{ readonly org_id: number }>`
      select p.org_id from projects p, organizations o where p.id = ${made.project.id} and o.id = p.org_id`
    const org = row?.org_id ?? 0
    yield* sql`update organizations set tier = ${tier} where id = ${org}`
    if (eur !== "0") yield* billing.add(org, BigDecimal.unsafeFromString(eur))
    return { ...made, org }
  })

const ledger = (org: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly kind: string; readonly amount: number }>`
      select kind, amount_eur::float8 as amount from ledger_entries where org_id = ${org} and kind <> 'top_up' order by id`
  )

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
  it.scoped("costs the same in its record, call.ended, the ledger and the usage", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const calls = yield* Calls
      const usage = yield* Usage
      const { agent, number, org, project } = yield* agentWith("payg", "5")
      const caller = yield* dial(number)
      yield* caller.until("answered")
      yield* caller.hears(/^Hello\.$/)
      expect(yield* billing.account(org)).toMatchObject({ balance_eur: 4.88 })
      expect(yield* billing.liveCalls(org)).toBe(1)
      caller.send({ event: "say", text: "bye" })
      yield* caller.until("hangup")
      const record = yield* Record.settled(number)
      const call = yield* calls.get(project, record.call_id)
      const minutes = Math.round((call.duration_seconds * 10_000) / 60) / 10_000
      const cost = Math.round(minutes * 0.12 * 10_000) / 10_000
      const costs = {
        minutes_used: minutes,
        rate_per_minute: 0.12,
        call_cost: cost,
        recording_cost: 0,
        transfer_cost: 0,
        llm_discount: 0,
        total_cost: cost
      }
      expect(call.duration_seconds).toBeGreaterThan(0)
      expect(call).toMatchObject(costs)
      expect(Record.dataOf(record, "call.ended")).toMatchObject([costs])
      // "Hello." and "Bye." were spoken; one request to the model.
      expect(call.usage).toMatchObject({
        llm: { requests: 1, input_tokens: expect.any(Number), cached_input_tokens: 0, output_tokens: 1 },
        tts: { characters: 10, cached_characters: 0 }
      })
      expect(call.usage?.llm.input_tokens).toBeGreaterThan(0)
      expect(call.usage?.stt.seconds).toBeGreaterThan(0)
      expect(call.line).toEqual({
        telephony: "simulated",
        carrier_call_id: expect.toSatisfy((id: unknown) => id === null || typeof id === "string"),
        codec: "PCMU",
        packets_lost: expect.toSatisfy((count: unknown) => count === null || count === 0),
        packets_late: expect.toSatisfy((count: unknown) => count === null || count === 0),
        jitter_ms: expect.toSatisfy((ms: unknown) => ms === null || typeof ms === "number")
      })
      expect(Record.dataOf(record, "call.ended")).toMatchObject([{ usage: call.usage, line: call.line }])
      expect(yield* ledger(org)).toEqual([
        { kind: "call_hold", amount: -0.12 },
        { kind: "call_hold_release", amount: 0.12 },
        { kind: "call", amount: -cost }
      ])
      expect(yield* billing.liveCalls(org)).toBe(0)
      const used = yield* usage.summary({ org_id: org, project_id: project.id }, { agent_id: agent.id })
      expect(used).toMatchObject({
        total_calls: 1,
        completed_calls: 1,
        answered_calls: 1,
        total_duration_seconds: call.duration_seconds,
        total_minutes_used: minutes,
        total_cost: cost
      })
    })
  )

  it.scoped("that is transferred costs the agent's time and the transfer's time, each at its rate", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { number, org, project } = yield* agentWith("payg", "5")
      const caller = yield* dial(number)
      const destination = "+15556660001"
      const other = yield* phone
      other.send({ event: "register", numbers: [destination], behaviour: "answer", ring_ms: 0 })
      yield* caller.hears(/^Hello\.$/)
      const live = yield* until(Record.now(number), (record) => record?.status === "in-progress")
      yield* calls.transfer(project, live?.call_id ?? "", destination)
      const record = yield* Record.settled(number)
      const call = yield* calls.get(project, record.call_id)
      // The destination answers automatically and hangs up after a second: 0.0167 minutes at 0.03 EUR.
      expect(call).toMatchObject({ transfer_duration_seconds: 1, transfer_cost: 0.0005, transferred_to: destination })
      expect(call.total_cost).toBeCloseTo(call.call_cost + 0.0005, 6)
      expect(Record.dataOf(record, "call.ended")).toMatchObject([
        { transfer_cost: 0.0005, total_cost: call.total_cost }
      ])
      expect(yield* ledger(org)).toContainEqual({ kind: "transfer", amount: -0.0005 })
    })
  )

  it.scoped("of an organization without credits is rejected before it rings, with call.failed as its only event", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const usage = yield* Usage
      const { agent, number, org, project, server } = yield* agentWith("growth", "0")
      const caller = yield* dial(number)
      expect(yield* caller.until("rejected")).toEqual({ event: "rejected", cause: "unavailable" })
      const record = yield* Record.settled(number)
      expect([record.outcome, record.call_events]).toEqual(["rejected rejected null", ["call.failed"]])
      expect(caller.messages.some(({ event }) => event === "ringing")).toBe(false)
      expect(server.received).toEqual([])
      expect(yield* calls.get(project, record.call_id)).toMatchObject({
        agent_id: agent.public_id,
        total_cost: 0,
        usage: { llm: { requests: 0 }, tts: { characters: 0 }, stt: { seconds: 0 } },
        line: { telephony: "simulated", codec: null, packets_lost: null, packets_late: null, jitter_ms: null }
      })
      expect(yield* ledger(org)).toEqual([])
      const used = yield* usage.summary({ org_id: org, project_id: project.id }, {})
      expect(used).toMatchObject({ total_calls: 1, completed_calls: 0, failed_calls: 0, no_answer_calls: 0 })
    })
  )

  it.scoped("is rejected as busy when all slots are taken: of two for the last slot, one rings", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const { number, org } = yield* agentWith("payg", "50")
      yield* Effect.replicateEffect(
        Effect.flatMap(newCallId, (call_id) => billing.admit({ call_id, org_id: org, recording: false })),
        9
      )
      const callers = yield* Effect.replicateEffect(dial(number), 2, { concurrency: 2 })
      const outcome = yield* until(
        Effect.sync(() => callers.flatMap((c) => c.messages.map(({ event }) => event))),
        (events) => events.includes("rejected") && events.includes("answered")
      )
      expect(outcome.filter((event) => event === "rejected")).toHaveLength(1)
      expect(outcome.filter((event) => event === "ringing")).toHaveLength(1)
      expect(callers.flatMap((c) => c.messages)).toContainEqual({ event: "rejected", cause: "busy" })
      for (const caller of callers) caller.send({ event: "hangup" })
      yield* until(billing.liveCalls(org), (live) => live === 9)
    })
  )

  it.scoped("of a killed node releases its slot and its hold, once", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const recovery = yield* Recovery
      const repo = yield* CallsRepo
      const { agent, org, project } = yield* agentWith("payg", "5")
      const public_id = yield* newCallId
      yield* billing.admit({ call_id: public_id, org_id: org, recording: false })
      yield* repo.insert({
        public_id,
        org_id: org,
        project_id: project.id,
        agent_id: agent.id,
        agent_public_id: agent.public_id,
        node_id: "node_killed",
        telephony: "simulated",
        from_number: "+15550000001",
        to_number: "+15550000002",
        status: "ringing",
        started_at: new Date(0)
      })
      expect(yield* billing.account(org)).toMatchObject({ balance_eur: 4.88 })
      yield* Effect.replicateEffect(recovery.settleCallsOf(["node_killed"]), 3, { concurrency: "unbounded" })
      expect(yield* billing.account(org)).toMatchObject({ balance_eur: 5 })
      expect(yield* billing.liveCalls(org)).toBe(0)
      expect((yield* ledger(org)).map(({ kind }) => kind)).toEqual(["call_hold", "call_hold_release"])
    })
  )
})
