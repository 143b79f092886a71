import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { at } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"

const concurrent = { concurrent: true, timeout: 60_000 }
const echo = { otherwise: "Ok {{user}}." }
const byHand = (write: Extract<CustomerServer.Answer, { write: unknown }>["write"]): CustomerServer.Answer => ({
  write
})

/** The numbers of calls in a project to one number. */
const callsTo = (box: typeof BlackBox.Service, line: Line.Line) =>
  Effect.map(box.api.get(`/v1/calls?agent_id=${line.agentId}`), ({ body }) => {
    const { calls } = body
    return Array.isArray(calls) ? calls.map((call: unknown) => String(at(call, "call_id"))) : []
  })

/** Checks a failed call that was never answered: status, disposition, ended_reason, and `call.failed` alone. */
const expectNeverAnswered = (
  box: typeof BlackBox.Service,
  callId: string,
  outcome: { readonly status: string; readonly disposition: string; readonly ended_reason: string | null }
) =>
  Effect.gen(function* () {
    const call = yield* CallRecords.settled(box.api, callId)
    expect(call).toMatchObject({ ...outcome, duration_seconds: 0, transcript: [], turn_count: 0 })
    const events = yield* CallRecords.eventsOf(callId)
    expect(CallRecords.misfitsOf(events)).toEqual([])
    expect(CallRecords.namesOf(events)).toEqual(["call.ringing", "call.failed"])
    const failure = at(call, "failure")
    expect(CallRecords.dataOf(events, "call.failed")).toMatchObject([{ ended_reason: outcome.ended_reason, failure }])
    if (outcome.status === "failed") {
      const reason = expect.stringMatching(/^POST http:.* (answered|failed after) /)
      expect(failure).toEqual({ stage: "call.started", reason, hint: expect.stringMatching(/agent-server\.md\.$/) })
    } else expect(failure).toBeNull()
    expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
  })

const failed = { status: "failed", disposition: "failed", ended_reason: "error" }
const fiveMegabytes = `{"system_prompt":"${"x".repeat(5 * 1024 * 1024)}"}`

/** Unusable answers to `call.started`. */
const unusable: ReadonlyArray<readonly [what: string, answer: CustomerServer.Answer]> = [
  ["never answers", undefined],
  [
    "answers 500",
    byHand((response) => response.writeHead(500, { "content-type": "application/json" }).end('{"system_prompt":"x"}'))
  ],
  ["answers HTML", byHand((response) => response.setHeader("content-type", "text/html").end("<html>It works!</html>"))],
  [
    "answers 5 MB",
    byHand((response) => {
      response.on("error", () => {})
      response.setHeader("content-type", "application/json").end(fiveMegabytes)
    })
  ],
  ["answers without a system_prompt", { json: { first_message: "Hello." } }],
  ["answers with a system_prompt that is not a string", { json: { system_prompt: 5, first_message: "Hello." } }],
  ["answers an array", { json: [] }],
  ["answers nothing", byHand((response) => response.end())],
  ["closes the connection", byHand((response) => response.destroy())],
  [
    "stops in the middle of its answer",
    byHand((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
      response.write('{"system')
      response.socket?.end()
    })
  ]
]

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("A call with faults", (it) => {
  for (const [what, answer] of unusable) {
    it.scoped(
      `the call is hung up and failed when the customer's server ${what}`,
      () =>
        Effect.gen(function* () {
          const box = yield* BlackBox
          const line = yield* Line.open(box, () => answer)
          const phone = yield* line.phone
          phone.send({ event: "dial", to: line.number, from: Line.caller })
          const { body } = yield* line.customer.until("call.started")
          yield* phone.until("hangup")
          expect(phone.inbox.all.map(({ event }) => event)).toEqual(["ringing", "hangup"])
          yield* expectNeverAnswered(box, String(body["call_id"]), failed)
          expect(line.customer.inbox.all).toHaveLength(1)
        }),
      concurrent
    )
  }

  it.scoped(
    "a redirect of the agent's server is not followed",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const elsewhere = yield* CustomerServer.start(() => Line.configuration(echo))
        const line = yield* Line.open(box, () =>
          byHand((response) => response.writeHead(307, { location: elsewhere.url }).end())
        )
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        const { body } = yield* line.customer.until("call.started")
        yield* phone.until("hangup")
        yield* expectNeverAnswered(box, String(body["call_id"]), failed)
        expect(elsewhere.inbox.all).toEqual([])
      }),
    concurrent
  )

  it.scoped(
    "an invalid field of the call.started answer is left out, and the call continues",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () =>
          Line.configuration(echo, {
            language: "xx-XX",
            voice: "Nobody",
            max_duration: "long",
            inactivity_timeout: -1,
            tools: [{ name: "bad name!" }, "x"],
            metadata: "none"
          })
        )
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", metadata: {} })
      }),
    concurrent
  )

  it.scoped(
    "the call continues when a tool never answers, answers 500 or has no result",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const names = ["never", "broken", "empty"]
        const line = yield* Line.open(box, ({ body, event }) => {
          if (event === "call.started") {
            const tools = names.map((name) => ({ name, description: name, timeout_seconds: 1 }))
            const rule = { user: "^go$", tools: names.map((tool) => ({ tool })) }
            return Line.configuration({ rules: [rule], otherwise: "On we go." }, { tools })
          }
          if (body["name"] === "broken") return byHand((response) => response.writeHead(500).end("oops"))
          return body["name"] === "never" ? undefined : { json: {} }
        })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("go")
        yield* phone.hears("On we go.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", tool_call_count: 3, tools_called: names })
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        const ids = new Map(
          CallRecords.dataOf(events, "tool.invoked").map(({ tool_call_id, tool_name }) => [tool_name, tool_call_id])
        )
        expect(ids.size).toBe(3)
        expect(CallRecords.dataOf(events, "tool.timeout")).toMatchObject([
          { tool_name: "never", tool_call_id: ids.get("never"), timeout_seconds: 1 }
        ])
        expect(CallRecords.dataOf(events, "tool.completed").map(({ tool_name }) => tool_name)).toEqual(
          expect.arrayContaining(["broken", "empty"])
        )
      }),
    concurrent
  )

  it.scoped(
    "a caller who hangs up during call.started makes the call canceled, and the request is aborted",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => undefined)
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        const request = yield* line.customer.until("call.started")
        phone.hangup()
        yield* expectNeverAnswered(box, String(request.body["call_id"]), {
          status: "canceled",
          disposition: "no-answer",
          ended_reason: "caller-hangup"
        })
        yield* Effect.promise(() => request.over)
      }),
    concurrent
  )

  it.scoped(
    "a caller who hangs up during the greeting has only its played part in the transcript",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const greeting = "One two three four five six seven."
        const line = yield* Line.open(box, () => Line.configuration(echo, { first_message: greeting }))
        const { callId, phone } = yield* line.call
        yield* phone.catches("One two")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "caller-hangup" })
        const content = String(at(call, "transcript.0.content"))
        expect(greeting.startsWith(content) && content.length < greeting.length).toBe(true)
        // The phone reports a character with its first frame; it counts as played with its last.
        expect(content).toMatch(/^One tw/)
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events, "call.")).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(CallRecords.namesOf(events, "ai.speech.")).toEqual(["ai.speech.started", "ai.speech.ended"])
      }),
    concurrent
  )

  it.scoped(
    "a caller who hangs up during a tool aborts its tool.call request",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, ({ event }) => {
          if (event === "tool.call") return undefined
          const rules = [{ user: "^go$", tool: "slow" }]
          return Line.configuration({ rules }, { tools: [{ name: "slow", timeout_seconds: 60 }] })
        })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("go")
        const request = yield* line.customer.until("tool.call")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", ended_reason: "caller-hangup", tools_called: ["slow"] })
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello.", "user: go"])
        yield* Effect.promise(() => request.over)
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.namesOf(events, "tool.")[0]).toBe("tool.invoked")
        expect(CallRecords.namesOf(events).at(-1)).toBe("call.ended")
      }),
    concurrent
  )

  it.scoped(
    "a caller who talks over the greeting stops it, and the transcript has only what was played",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const greeting = "One two three four five six seven eight nine ten eleven twelve."
        const line = yield* Line.open(box, () => Line.configuration(echo, { first_message: greeting }))
        const { callId, phone } = yield* line.call
        yield* phone.catches("One two")
        phone.say("Hi")
        yield* phone.until("clear")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        const [first, ...others] = CallRecords.spoken(call)
        const content = (first ?? "").replace("assistant: ", "")
        // The phone reports a character with its first frame; it counts as played with its last.
        expect(content).toMatch(/^One tw/)
        expect(greeting.startsWith(content) && content.length < greeting.length).toBe(true)
        expect(others).toEqual(["user: Hi", "assistant: Ok Hi."])
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        const cut = CallRecords.dataOf(events, "barge_in")
        expect(cut).toMatchObject([{ call_id: callId, from: Line.caller, interrupted_text: greeting }])
        expect("Hi".startsWith(String(cut[0]?.["user_text"]))).toBe(true)
        expect(CallRecords.dataOf(events, "ai.speech.ended")[0]).toMatchObject({ text: content })
        const replayed = yield* CallRecords.replayOf(callId)
        expect(replayed.differing).toEqual([])
        expect(replayed.state.transcript).toEqual(call["transcript"])
      }),
    concurrent
  )

  it.scoped(
    "a caller who talks while a tool runs is answered when the tool has its result",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const held: Array<() => void> = []
        const line = yield* Line.open(box, ({ event }) => {
          if (event === "transcript.updated") return { json: {} }
          if (event === "tool.call") {
            return byHand((response) => held.push(() => CustomerServer.reply(response, { result: "R" })))
          }
          const rules = [{ user: "^go$", tool: "slow", once: true }]
          return Line.configuration({ rules, ...echo }, { tools: [{ name: "slow", timeout_seconds: 30 }] })
        })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("go")
        yield* line.customer.until("tool.call")
        phone.say("Hi")
        yield* line.customer.inbox.find("the caller's words", ({ body }) => body["content"] === "Hi")
        for (const release of held) release()
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello.", "user: go", "user: Hi", "assistant: Ok Hi."])
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.namesOf(events, "tool.")).toEqual(["tool.invoked", "tool.completed"])
        expect(CallRecords.namesOf(events, "barge_in")).toEqual([])
        expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
      }),
    concurrent
  )

  it.scoped(
    "a caller who talks over the farewell does not stop it",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const farewell = "We must end here, goodbye."
        const line = yield* Line.open(box, () => Line.configuration(echo, { end_session_message: farewell }))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        const end = yield* Effect.fork(box.api.post(`/v1/calls/${callId}/end`))
        yield* phone.catches("We must")
        phone.say("No")
        yield* phone.hears(farewell)
        yield* phone.until("hangup")
        expect((yield* Fiber.join(end)).status).toBe(200)
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", ended_reason: "api" })
        expect([...CallRecords.spoken(call)].sort()).toEqual([
          "assistant: Hello.",
          `assistant: ${farewell}`,
          "user: No"
        ])
      }),
    concurrent
  )

  it.scoped(
    "a phone whose connection breaks during a call counts as hung up",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.drop()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "caller-hangup" })
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello."])
      }),
    concurrent
  )

  it.scoped(
    "malformed messages of a phone are answered with error, and the call continues",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        const bad = [
          "",
          "not json",
          "null",
          "[]",
          "{}",
          '{"event":"fly"}',
          '{"event":"say"}',
          '{"event":"say","text":5}',
          '{"event":"say","text":""}',
          '{"event":"dtmf","digits":"12a"}',
          '{"event":"media","payload":"***"}',
          '{"event":"dial","to":"+1","from":"+2"}',
          new Uint8Array([0xff, 0x00, 0x80])
        ]
        for (const message of bad) {
          phone.sendRaw(message)
          const { message: why } = yield* phone.until("error")
          expect([message, why.length > 5]).toEqual([message, true])
        }
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        expect(yield* CallRecords.settled(box.api, callId)).toMatchObject({ status: "completed" })
      }),
    concurrent
  )

  it.scoped(
    "a call to an unknown number leaves no record; one to a number without agent is recorded as rejected",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo))
        const phone = yield* line.phone
        const unknown = Line.freshNumber()
        phone.send({ event: "dial", to: unknown, from: Line.caller })
        yield* phone.until("rejected")

        const orphan = Line.freshNumber()
        yield* box.api.post("/v1/phone-numbers/import", { number: orphan, telephony: "simulated" })
        phone.send({ event: "dial", to: orphan, from: Line.caller })
        yield* phone.until("rejected")
        expect(phone.inbox.all.map(({ event }) => event)).toEqual(["rejected", "rejected"])

        const listed = yield* eventually(
          "the rejected call",
          box.api.get("/v1/calls?status=rejected"),
          ({ body }) => typeof at(body, "calls.0.ended_at") === "string"
        )
        expect(at(listed.body, "calls.1")).toBeUndefined()
        expect(at(listed.body, "calls.0")).toMatchObject({
          agent_id: null,
          from_number: Line.caller,
          to_number: orphan,
          status: "rejected",
          disposition: "rejected",
          ended_reason: null,
          duration_seconds: 0
        })
        const events = yield* CallRecords.eventsOf(String(at(listed.body, "calls.0.call_id")))
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events)).toEqual(["call.failed"])
        expect(yield* callsTo(box, line)).toEqual([])
      }),
    concurrent
  )

  it.scoped(
    "a failing model leads to one apology; the second failure in a row ends the call",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () =>
          Line.configuration({ fail: "error" }, { end_session_message: "Ciao." })
        )
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("A")
        yield* phone.catches("sorry")
        phone.say("B")
        yield* phone.hears("Ciao.")
        yield* phone.until("hangup")
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "failed", disposition: "failed", ended_reason: "error" })
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events, "call.")).toEqual([
          "call.ringing",
          "call.started",
          "call.ended",
          "call.failed"
        ])
      }),
    concurrent
  )

  it.scoped(
    "lost, late and noisy frames do not end a call",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo))
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller, loss: 0.02, jitter_ms: 40, noise_db: 20 })
        const { call_id: callId } = yield* phone.until("answered")
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears(/^Ok .*\.$/)
        phone.hangup()
        expect(yield* CallRecords.settled(box.api, callId)).toMatchObject({ status: "completed" })
      }),
    concurrent
  )

  it.scoped(
    "an agent's server that never answers transcript.updated does not delay the call",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, ({ event }) =>
          event === "call.started" ? Line.configuration(echo) : undefined
        )
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        yield* line.customer.until("transcript.updated")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        const end = yield* box.api.post(`/v1/calls/${callId}/end`)
        expect(end.status).toBe(200)
        expect(line.customer.of("transcript.updated").map(({ body }) => body["content"])).toEqual(["Hello."])
      }),
    concurrent
  )
})
