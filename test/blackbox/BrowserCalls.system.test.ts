import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Either, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import * as BrowserPhone from "../src/blackbox/BrowserPhone.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const env = { SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-browser" }

/** A link to an agent that repeats what it hears; the page's address on a server. */
const newLink = (server: ServerProcess.ServerProcess, body: unknown) =>
  Effect.gen(function* () {
    const line = yield* Line.open(server, () => Line.configuration({ otherwise: "Ok {{user}}." }))
    const { body: link } = yield* server.api.post(`/v1/agents/${line.agentId}/browser-calls`, body)
    const token = ApiClient.textAt(link, "token")
    return (at: ServerProcess.ServerProcess) => `${at.url}/telephony/browser/${token}`
  })

describe("Browser calls", () => {
  it.scopedLive(
    "whose network does not come back end as error after 10 s, with what was said",
    () =>
      Effect.gen(function* () {
        const server = yield* ServerProcess.start({ data: { url: yield* TestDatabase.freshUrl }, env })
        const page = yield* BrowserPhone.connect((yield* newLink(server, {}))(server))
        const callId = String((yield* page.until("ringing"))["call_id"])
        yield* page.hears("Hello.")
        page.say("Hi")
        yield* page.hears("Ok Hi.")
        page.drop()
        const { body } = yield* eventually(
          "the end",
          server.api.get(`/v1/calls/${callId}`),
          ({ body }) => body["ended_at"] !== null
        )
        expect(body).toMatchObject({ status: "failed", ended_reason: "error" })
        expect(CallRecords.spoken(body).slice(0, 2)).toEqual(["assistant: Hello.", "user: Hi"])
        expect(ApiClient.at(body, "failure.stage")).toBe("telephony")
      }),
    120_000
  )

  it.scopedLive(
    "are counted across restarts and nodes, and a page whose server was killed is told that its call is over",
    () =>
      Effect.gen(function* () {
        const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys, env }
        const first = yield* ServerProcess.start(options)
        const urlAt = yield* newLink(first, { max_calls: 2 })
        const page = yield* BrowserPhone.connect(urlAt(first))
        const key = String((yield* page.until("calling"))["resume"])
        yield* page.hears("Hello.")
        yield* first.signal("SIGKILL")
        yield* first.exit()
        const [one, two] = yield* Effect.all([ServerProcess.start(options), ServerProcess.start(options)])
        const again = yield* BrowserPhone.connect(urlAt(one), { key, received: page.received() })
        expect(yield* again.closed).toContain("4410")
        // One call is left: two nodes are asked for it at once.
        const starts = yield* Effect.all(
          [one, two, one, two].map((server) => Effect.either(BrowserPhone.connect(urlAt(server)))),
          { concurrency: "unbounded" }
        )
        const outcomes = yield* Effect.forEach(
          starts.flatMap((start) => (Either.isRight(start) ? [start.right] : [])),
          ({ inbox }) => inbox.find("the outcome", ({ event }) => event === "answered" || event === "refused")
        )
        expect(outcomes.filter(({ event }) => event === "answered")).toHaveLength(1)
        for (const server of [one, two]) expect((yield* ApiClient.call(urlAt(server), "GET")).status).toBe(404)
      }),
    180_000
  )

  it.scopedLive(
    "that are transferred are joined with a phone of the network of the agent's number, until the server dies",
    () =>
      Effect.gen(function* () {
        const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys, env }
        const first = yield* ServerProcess.start(options)
        const line = yield* Line.open(first, () => Line.configuration({ otherwise: "Ok {{user}}." }))
        const number = Line.freshNumber()
        const phone = yield* line.phone
        phone.send({ event: "register", numbers: [number], behaviour: "answer" })
        yield* phone.until("registered")
        const { body: link } = yield* first.api.post(`/v1/agents/${line.agentId}/browser-calls`, {})
        const page = yield* BrowserPhone.connect(`${first.url}/telephony/browser/${ApiClient.textAt(link, "token")}`)
        const callId = String((yield* page.until("ringing"))["call_id"])
        yield* page.hears("Hello.")
        const moved = yield* first.api.post(`/v1/calls/${callId}/transfer`, { destination: number })
        expect([moved.status, moved.body]).toEqual([200, { success: true, destination: number }])
        // The page has PCM16 at 16 kHz, the phone mu-law at 8 kHz.
        phone.say("Sales here")
        yield* page.hears("Sales here")
        page.say("A chair please")
        yield* phone.hears("A chair please")
        yield* first.signal("SIGKILL")
        yield* first.exit()
        const second = yield* ServerProcess.start(options)
        const call = yield* CallRecords.settled(second.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "transferred", transferred_to: number })
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello."])
      }),
    120_000
  )

  it.scopedLive(
    "svc call prints a link to the page of an agent, or what is wrong",
    () =>
      Effect.gen(function* () {
        const server = yield* ServerProcess.start({ data: { url: yield* TestDatabase.freshUrl }, env })
        const line = yield* Line.open(server, () => Line.configuration({ otherwise: "Ok {{user}}." }), {
          name: "Reception"
        })
        const run = (...args: ReadonlyArray<string>) =>
          SvcProcess.run(["call", ...args], { SVC_KEY: Redacted.value(server.keys.project), SVC_URL: server.url }, "")
        const printed = yield* run("reception", "--from", Line.caller, "--max-calls", "2")
        expect([printed.code, printed.errors]).toEqual([0, ""])
        const url = printed.output.trimEnd()
        expect(url).toMatch(new RegExp(`^${server.url}/telephony/browser/[\\w-]{32}$`))
        const page = yield* BrowserPhone.connect(url)
        yield* page.hears("Hello.")
        expect(line.customer.of("call.started").map(({ body }) => body["from"])).toEqual([Line.caller])
        const json: unknown = JSON.parse((yield* run("Reception", "--json")).output)
        expect(json).toEqual({
          url: expect.stringContaining(server.url),
          token: expect.any(String),
          expires_at: expect.any(String)
        })
        const wrong = yield* run("Nobody")
        expect(wrong.code).toBe(1)
        expect(wrong.errors).toBe(`svc: no agent Nobody in this project: there are Reception (${line.agentId})\n`)
        const tooMany = yield* run("Reception", "--max-calls", "1001")
        expect(tooMany.code).not.toBe(0)
        expect(tooMany.errors).toContain("--max-calls must be a whole number from 1 to 1000")
      }),
    120_000
  )
})
