import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }

it.scopedLive(
  "calls of a killed server are settled once by the next start, with every finished turn",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const options = { data: { url: database }, keys }
      const server = yield* ServerProcess.start(options)
      const read = Effect.provide(pool(Redacted.value(database), 1))

      const talking = yield* Line.open(server, ({ event }) =>
        event === "call.started" ? Line.configuration(echo, { metadata: { crm: 7 } }) : { json: {} }
      )
      const { callId, phone } = yield* talking.call
      yield* phone.hears("Hello.")
      phone.say("Hi")
      yield* phone.hears("Ok Hi.")
      const ended = yield* talking.call
      ended.phone.hangup()
      const before = yield* CallRecords.settled(server.api, ended.callId)
      const ringing = yield* Line.open(server, () => undefined)
      const other = yield* ringing.phone
      other.send({ event: "dial", to: ringing.number, from: Line.caller })
      const ringingId = String((yield* ringing.customer.until("call.started")).body["call_id"])
      const said = ["assistant: Hello.", "user: Hi", "assistant: Ok Hi."]
      yield* eventually("the turns", server.api.get(`/v1/calls/${callId}`), ({ body }) => {
        return CallRecords.spoken(body).length === said.length
      })
      yield* eventually("the ringing", read(CallRecords.eventsOf(ringingId)), (events) => events.length === 1)
      phone.say("This is a sentence that is never finished")
      yield* eventually(
        "the caller's speech",
        read(CallRecords.eventsOf(callId)),
        (events) => CallRecords.namesOf(events, "speech.started").length === 2
      )

      // Many more calls, each in another phase.
      yield* Effect.forEach(
        Array.from({ length: 12 }, (_, n) => n),
        (n) =>
          Effect.gen(function* () {
            const caller = yield* talking.phone
            caller.send({ event: "dial", to: talking.number, from: Line.caller })
            if (n % 4 === 0) return
            yield* caller.until("answered")
            if (n % 4 === 1) return
            yield* caller.catches("Hello")
            if (n % 4 === 2) return
            caller.say("Hi")
          }),
        { concurrency: "unbounded" }
      )

      yield* server.signal("SIGKILL")
      expect((yield* server.exit()).signal).toBe("SIGKILL")
      yield* phone.inbox.closed

      const next = yield* ServerProcess.start(options)
      const call = yield* CallRecords.settled(next.api, callId)
      expect(call).toMatchObject({
        status: "failed",
        disposition: "failed",
        ended_reason: "error",
        from_number: Line.caller,
        to_number: talking.number,
        metadata: { crm: 7 }
      })
      expect(CallRecords.spoken(call).slice(0, 3)).toEqual(said)
      const never = yield* CallRecords.settled(next.api, ringingId)
      expect(never).toMatchObject({ status: "failed", disposition: "failed", ended_reason: "error", transcript: [] })
      const conflict = yield* next.api.post(`/v1/calls/${callId}/end`)
      expect([conflict.status, conflict.body["code"]]).toEqual([409, "CALL_NOT_IN_PROGRESS"])
      // A call that had ended before is unchanged.
      expect((yield* next.api.get(`/v1/calls/${ended.callId}`)).body).toEqual(before)

      yield* read(
        Effect.gen(function* () {
          const events = yield* CallRecords.eventsOf(callId)
          expect(CallRecords.misfitsOf(events)).toEqual([])
          expect(CallRecords.namesOf(events, "call.")).toEqual([
            "call.ringing",
            "call.started",
            "call.ended",
            "call.failed"
          ])
          expect(CallRecords.dataOf(events, "call.ended")).toMatchObject([
            { transcript: call["transcript"], ended_reason: "error" }
          ])
          expect(CallRecords.namesOf(events).slice(-2)).toEqual(["call.ended", "call.failed"])
          const others = yield* CallRecords.eventsOf(ringingId)
          expect(CallRecords.misfitsOf(others)).toEqual([])
          expect(CallRecords.namesOf(others)).toEqual(["call.ringing", "call.failed"])
          expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
        })
      )

      // In every phase the record, the events and the journal of a call agree.
      const listed = yield* eventually("the end of all", next.api.get("/v1/calls?limit=100"), ({ body }) => {
        const { calls } = body
        return Array.isArray(calls) && calls.every((one: unknown) => at(one, "ended_at") !== null)
      })
      const ids = Array.isArray(listed.body["calls"]) ? listed.body["calls"].map((one) => textAt(one, "call_id")) : []
      expect(ids.length).toBeGreaterThan(3)
      for (const id of ids) {
        const record = (yield* next.api.get(`/v1/calls/${id}`)).body
        const events = yield* read(CallRecords.eventsOf(id))
        expect(CallRecords.misfitsOf(events)).toEqual([])
        const names = CallRecords.namesOf(events, "call.")
        const wasAnswered = names.includes("call.started")
        const ends = [
          ...(wasAnswered ? ["call.ended"] : []),
          ...(record["status"] === "completed" ? [] : ["call.failed"])
        ]
        expect([id, names.filter((name) => name === "call.ended" || name === "call.failed")]).toEqual([id, ends])
        const told = CallRecords.dataOf(events, "transcript.updated").map(
          ({ turn }) => `${at(turn, "role")}: ${at(turn, "content")}`
        )
        expect(CallRecords.spoken(record).slice(0, told.length)).toEqual(told)
      }

      // The new server accepts calls.
      const again = yield* Line.open(next, () => Line.configuration(echo))
      const second = yield* again.call
      yield* second.phone.hears("Hello.")
      second.phone.hangup()
      expect(yield* CallRecords.settled(next.api, second.callId)).toMatchObject({ status: "completed" })
    }),
  { concurrent: true, timeout: 120_000 }
)

it.scopedLive(
  "calls of a killed server are settled by another running server",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const options = { data: { url: database }, keys }
      const [one, other] = yield* Effect.all([ServerProcess.start(options), ServerProcess.start(options)], {
        concurrency: 2
      })
      const lines = yield* Effect.forEach([one, other], (server) => Line.open(server, () => Line.configuration(echo)))
      const calls = yield* Effect.forEach(lines, ({ call }) => call)
      const [first, second] = calls
      if (first === undefined || second === undefined) return expect.unreachable("there are no calls")
      for (const { callId, phone } of calls) {
        yield* phone.hears("Hello.")
        yield* eventually("the greeting", other.api.get(`/v1/calls/${callId}`), ({ body }) => {
          return CallRecords.spoken(body).length === 1
        })
      }
      // Both servers show both calls; only the one that holds a call can end it.
      const foreign = yield* other.api.post(`/v1/calls/${first.callId}/end`)
      expect([foreign.status, foreign.body["code"]]).toEqual([409, "NO_CONTROL_CHANNEL"])

      yield* one.signal("SIGKILL")
      yield* one.exit()
      const call = yield* CallRecords.settled(other.api, first.callId)
      expect(call).toMatchObject({ status: "failed", disposition: "failed", ended_reason: "error" })
      expect(CallRecords.spoken(call)).toEqual(["assistant: Hello."])
      const events = yield* CallRecords.eventsOf(first.callId).pipe(Effect.provide(pool(Redacted.value(database), 1)))
      expect(CallRecords.namesOf(events).slice(-2)).toEqual(["call.ended", "call.failed"])
      expect(CallRecords.namesOf(events, "call.")).toHaveLength(4)
      // The call of the running server is unchanged.
      second.phone.say("Hi")
      yield* second.phone.hears("Ok Hi.")
      second.phone.hangup()
      expect(yield* CallRecords.settled(other.api, second.callId)).toMatchObject({ status: "completed" })
    }),
  { concurrent: true, timeout: 120_000 }
)
