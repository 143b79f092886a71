import * as http from "node:http"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { defaultTimeout } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }

/** A server whose database outlives it. */
const fresh = Effect.gen(function* () {
  const database = yield* TestDatabase.freshUrl
  const keys = yield* ServerProcess.newKeys
  const server = yield* ServerProcess.start({ data: { url: database }, keys })
  return { server, read: Effect.provide(pool(Redacted.value(database), 1)) }
})

/** A request without its body; `finish` sends the body and returns the answer's status and body. */
const requestWithoutBody = (server: ServerProcess.ServerProcess, body: string) =>
  Effect.async<{ readonly finish: Effect.Effect<{ readonly status: number; readonly text: string }> }>((resume) => {
    const request = http.request(`${server.url}/v1/agents`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${Redacted.value(server.keys.project)}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body)
      }
    })
    const answer = new Promise<{ status: number; text: string }>((done, fail) => {
      request.once("error", fail).once("response", (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part
        })
        response.once("end", () => done({ status: response.statusCode ?? 0, text }))
      })
    })
    answer.catch(() => {})
    const finish = Effect.suspend(() => {
      request.end(body.slice(10))
      return Effect.promise(() => answer)
    }).pipe(
      Effect.timeoutFail({ duration: defaultTimeout, onTimeout: () => new Error("the slow request was not answered") }),
      Effect.orDie
    )
    request.write(body.slice(0, 10), () => resume(Effect.succeed({ finish })))
  })

/** The status of a new request, or `refused`. */
const statusOfNewRequest = (url: string) =>
  Effect.async<number | "refused">((resume) => {
    const request = http.get(`${url}/healthz`, { agent: false }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
    request.once("error", () => resume(Effect.succeed("refused")))
  })

describe("A server that gets SIGTERM", () => {
  it.scopedLive(
    "speaks the farewell in live calls, settles them, finishes requests, refuses new ones, and exits with 0",
    () =>
      Effect.gen(function* () {
        const { read, server } = yield* fresh
        const line = yield* Line.open(server, () => Line.configuration(echo, { end_session_message: "We close." }))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        const waiting = yield* Line.open(server, () => undefined)
        const ringing = yield* waiting.phone
        ringing.send({ event: "dial", to: waiting.number, from: Line.caller })
        const ringingId = String((yield* waiting.customer.until("call.started")).body["call_id"])
        const idle = yield* line.phone
        const slow = yield* requestWithoutBody(server, JSON.stringify({ name: "Late", server_url: line.customer.url }))
        // The server has read it once a later request is answered.
        yield* server.api.get("/v1/health")

        yield* server.signal("SIGTERM")
        yield* server.lines.find("the log line of the stop", (text) => /stop/i.test(text))
        yield* ringing.until("hangup")
        expect(yield* statusOfNewRequest(server.url)).toSatisfy((answer) => answer === "refused" || answer === 503)
        idle.send({ event: "dial", to: line.number, from: Line.caller })
        yield* idle.until("rejected")
        const { status, text } = yield* slow.finish
        expect([status, ApiClient.at(JSON.parse(text), "agent.name")]).toEqual([201, "Late"])
        yield* phone.hears("We close.")
        yield* phone.until("hangup")
        // The server itself waits 10 s.
        expect(yield* server.exit("15 seconds")).toEqual({ code: 0, signal: null })

        yield* read(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const calls = yield* sql`
              select public_id, status, disposition, ended_reason, ended_at is not null as over
              from calls order by id`
            expect(calls).toEqual([
              {
                public_id: callId,
                status: "completed",
                disposition: "answered",
                ended_reason: "agent-hangup",
                over: true
              },
              { public_id: ringingId, status: "failed", disposition: "failed", ended_reason: "error", over: true }
            ])
            const events = yield* CallRecords.eventsOf(callId)
            expect(CallRecords.misfitsOf(events)).toEqual([])
            expect(CallRecords.namesOf(events, "call.")).toEqual(["call.ringing", "call.started", "call.ended"])
            expect(CallRecords.spoken(CallRecords.dataOf(events, "call.ended")[0] ?? {})).toEqual([
              "assistant: Hello.",
              "assistant: We close."
            ])
            expect(CallRecords.namesOf(yield* CallRecords.eventsOf(ringingId))).toEqual(["call.ringing", "call.failed"])
          })
        )
      }),
    { concurrent: true, timeout: 120_000 }
  )

  it.scopedLive("goes on, and exits with 0, when nobody reads its log any more", () =>
    Effect.gen(function* () {
      const { server } = yield* fresh
      const line = yield* Line.open(server, () => Line.configuration(echo, { voice: "Nobody" }))
      yield* server.closeOutput
      // Each logs a warning about the voice. Node itself ignores the first write that fails, and not the next ones.
      for (let i = 0; i < 5; i++) {
        expect((yield* server.api.post("/v1/test-sessions", { agent_id: line.agentId })).status).toBe(201)
      }
      expect((yield* server.api.get("/v1/agents")).status).toBe(200)
      yield* server.signal("SIGTERM")
      expect(yield* server.exit()).toEqual({ code: 0, signal: null })
    })
  )

  it.scopedLive(
    "exits at once at the second signal",
    () =>
      Effect.gen(function* () {
        const { server } = yield* fresh
        const farewell = "This farewell is far too long to be waited for by anybody who has pressed the keys twice."
        const line = yield* Line.open(server, () => Line.configuration(echo, { end_session_message: farewell }))
        const { phone } = yield* line.call
        yield* phone.hears("Hello.")
        yield* server.signal("SIGINT")
        yield* phone.catches("This farewell")
        yield* server.signal("SIGINT")
        const { code } = yield* server.exit()
        expect(code).not.toBe(0)
        expect(phone.inbox.all.some((m) => m.event === "heard" && m.text.includes("twice"))).toBe(false)
      }),
    { concurrent: true, timeout: 120_000 }
  )
})
