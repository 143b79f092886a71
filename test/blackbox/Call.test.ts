import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { at, call as get } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import * as DocumentedShapes from "../src/blackbox/DocumentedShapes.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import { misfits } from "../src/blackbox/Shape.ts"

const concurrent = { concurrent: true, timeout: 60_000 }
const echo = { otherwise: "Ok {{user}}." }

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("A call", (it) => {
  it.scoped(
    "is answered, talks, runs tools in parallel, hangs up, and writes its record, events and journal",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const waiting: Array<() => void> = []
        const line = yield* Line.open(box, (request) => {
          if (request.event === "call.started") {
            return Line.configuration(
              {
                rules: [
                  { user: "^go (\\w+)$", tools: [{ tool: "fast", arguments: { what: "$1" } }, { tool: "slow" }] },
                  { tool_result: "fast", say: "Got {{result.v}}." },
                  { user: "^bye$", say: "Bye.", tool: "end_call", arguments: { disposition: "resolved" } }
                ],
                ...echo
              },
              {
                tools: [
                  { name: "fast", description: "F", parameters: { type: "object", properties: {} } },
                  { name: "slow", description: "S", timeout_seconds: 1 },
                  { name: "end_call" }
                ],
                end_session_message: "So long.",
                metadata: { crm: { id: 7 } }
              }
            )
          }
          if (request.event === "transcript.updated") return { json: {} }
          // The fast tool answers once the slow one was called too; the slow one never answers.
          if (request.body["name"] === "slow") {
            for (const answer of waiting.splice(0)) answer()
            return undefined
          }
          return {
            write: (response) => {
              waiting.push(() => CustomerServer.reply(response, { result: { v: 5 } }))
            }
          }
        })
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        yield* phone.until("ringing")
        const { call_id: callId } = yield* phone.until("answered")
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")

        const live = yield* box.api.get(`/v1/calls/${callId}/status`)
        expect(live.status).toBe(200)
        expect(misfits(DocumentedShapes.callState, live.body)).toEqual([])
        expect(live.body).toMatchObject({
          status: "in-progress",
          disposition: null,
          ended_reason: null,
          ended_at: null
        })
        const soFar = yield* eventually("the transcript so far", box.api.get(`/v1/calls/${callId}`), ({ body }) =>
          CallRecords.spoken(body).includes("assistant: Ok Hi.")
        )
        expect(CallRecords.spoken(soFar.body)).toEqual(["assistant: Hello.", "user: Hi", "assistant: Ok Hi."])
        expect(misfits(DocumentedShapes.call, soFar.body)).toEqual([])

        phone.say("go gold")
        yield* phone.hears("Got 5.")
        phone.say("bye")
        yield* phone.hears("Bye.")
        yield* phone.hears("So long.")
        yield* phone.until("hangup")

        const call = yield* CallRecords.settled(box.api, callId)
        expect(misfits(DocumentedShapes.call, call)).toEqual([])
        expect(call).toMatchObject({
          call_id: callId,
          agent_id: line.agentId,
          from_number: Line.caller,
          to_number: line.number,
          status: "completed",
          disposition: "answered",
          ended_reason: "agent-hangup",
          tool_call_count: 3,
          tools_called: ["fast", "slow", "end_call"],
          metadata: { crm: { id: 7 } },
          transferred_to: null,
          has_recording: false,
          recording_enabled: false
        })
        expect(call["turn_count"]).toBe(8)
        expect(call["duration_seconds"]).toBeGreaterThanOrEqual(4)
        expect(at(call, "transcript.0") && misfits(DocumentedShapes.transcriptTurn, at(call, "transcript.0"))).toEqual(
          []
        )
        expect(misfits(DocumentedShapes.turnLatency, at(call, "latency_data.turns.0"))).toEqual([])
        const said = [
          "assistant: Hello.",
          "user: Hi",
          "assistant: Ok Hi.",
          "user: go gold",
          "assistant: Got 5.",
          "user: bye",
          "assistant: Bye.",
          "assistant: So long."
        ]
        expect(CallRecords.spoken(call)).toEqual(said)

        const listed = yield* box.api.get(`/v1/calls?agent_id=${line.agentId}`)
        expect(at(listed.body, "calls.0") && misfits(DocumentedShapes.callSummary, at(listed.body, "calls.0"))).toEqual(
          []
        )
        const single = ["latency_data", "transcript", "failure", "warnings", "warnings_dropped", "usage", "line"]
        const summary = Object.fromEntries(Object.entries(call).filter(([field]) => !single.includes(field)))
        expect(listed.body).toEqual({ calls: [summary], next_cursor: null })
        const over = yield* box.api.get(`/v1/calls/${callId}/status`)
        expect(misfits(DocumentedShapes.callState, over.body)).toEqual([])
        expect(over.body).toEqual(
          Object.fromEntries(Object.keys(DocumentedShapes.callState).map((key) => [key, call[key]]))
        )

        // The agent's server got every request, each signed with the agent's secret.
        yield* line.customer.inbox.find("the last turn", ({ body }) => body["content"] === "So long.")
        const received = line.customer.inbox.all
        expect(received.flatMap((request) => CustomerServer.requestFaults(request, line.secret))).toEqual([])
        expect(line.customer.of("call.started").map(({ body }) => body)).toEqual([
          {
            event: "call.started",
            call_id: callId,
            from: Line.caller,
            to: line.number,
            agent_id: line.agentId,
            gathered_digit: null,
            gathered_input: null,
            gather_status: null
          }
        ])
        const tools = line.customer.of("tool.call").map(({ body }) => body)
        expect(tools.map(({ name }) => name).sort()).toEqual(["fast", "slow"])
        expect(tools.find(({ name }) => name === "fast")).toEqual({
          event: "tool.call",
          tool_call_id: expect.any(String),
          name: "fast",
          arguments: { what: "gold" },
          call_id: callId,
          from: Line.caller
        })
        const told = line.customer.of("transcript.updated").map(({ body }) => body)
        expect(told.map(({ content, role }) => `${role}: ${content}`)).toEqual(said)
        expect(told[0]).toEqual({
          event: "transcript.updated",
          call_id: callId,
          role: "assistant",
          content: "Hello.",
          timestamp: expect.any(Number)
        })
        expect(told.map(({ timestamp }) => timestamp)).toEqual(
          Array.from({ length: 8 }, (_, index) => at(call, `transcript.${index}.timestamp`))
        )

        // The events for webhooks.
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events, "call.")).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(events[0]?.event).toBe("call.ringing")
        expect(events.at(-1)?.event).toBe("call.ended")
        const turns = CallRecords.dataOf(events, "transcript.updated")
        expect(turns.map(({ turn_index }) => turn_index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
        expect(turns.map(({ turn }) => `${at(turn, "role")}: ${at(turn, "content")}`)).toEqual(said)
        expect(CallRecords.dataOf(events, "tool.invoked").map(({ tool_name }) => tool_name)).toEqual([
          "fast",
          "slow",
          "end_call"
        ])
        expect(CallRecords.dataOf(events, "tool.timeout")).toMatchObject([{ tool_name: "slow", timeout_seconds: 1 }])
        expect(CallRecords.dataOf(events, "tool.completed")).toMatchObject([
          { tool_name: "fast", result: { v: 5 } },
          { tool_name: "end_call" }
        ])
        expect(CallRecords.namesOf(events, "speech.")).toEqual(
          Array.from({ length: 3 }, () => ["speech.started", "speech.ended"]).flat()
        )
        expect(CallRecords.namesOf(events, "ai.speech.")).toEqual(
          Array.from({ length: 5 }, () => ["ai.speech.started", "ai.speech.ended"]).flat()
        )
        const { latency_data: _, ...shown } = call
        const [ended] = CallRecords.dataOf(events, "call.ended")
        expect(ended).toMatchObject({ from: Line.caller, to: line.number, language: "en-US" })
        const shared = Object.keys(shown).filter((field) => ended !== undefined && field in ended)
        expect(shared).toHaveLength(25)
        expect(ended).toMatchObject(Object.fromEntries(shared.map((field) => [field, shown[field]])))

        const replayed = yield* CallRecords.replayOf(callId)
        expect(replayed.differing).toEqual([])
        expect(replayed.state.transcript).toEqual(call["transcript"])
      }),
    concurrent
  )

  it.scoped(
    "ends with ended_reason caller-hangup when the caller hangs up",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const receiver = yield* CustomerServer.start(() => ({ json: {} }))
        const line = yield* Line.open(box, () => Line.configuration(echo), { webhook_url: receiver.url })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "caller-hangup" })
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello.", "user: Hi", "assistant: Ok Hi."])
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events, "call.")).toEqual(["call.ringing", "call.started", "call.ended"])
        expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])

        // The webhook got all of them, and its history shows it.
        const records = ({ body }: { readonly body: unknown }): ReadonlyArray<unknown> => {
          const found = at(body, "deliveries")
          return Array.isArray(found) ? found : []
        }
        const history = yield* eventually(
          "the deliveries of the call",
          box.api.get(`/v1/calls/${callId}/webhooks`),
          (answer) => records(answer).length >= events.length
        )
        expect(history).toMatchObject({ status: 200, body: { deliveries: expect.any(Array) } })
        for (const record of records(history)) {
          expect(misfits(DocumentedShapes.deliveryRecord, record)).toEqual([])
          expect(record).toMatchObject({ url: receiver.url, attempt: 1, status_code: 200, success: true, error: null })
        }
        const told = receiver.inbox.all.map(({ event, headers }) => `${headers["x-svc-delivery"]} ${event}`)
        expect(told).toHaveLength(events.length)
        expect(
          records(history)
            .map((record) => `${at(record, "event_id")} ${at(record, "event")}`)
            .toSorted()
        ).toEqual(told.toSorted())
        const stranger = get(`${box.url}/v1/calls/${callId}/webhooks`, "GET")
        expect((yield* stranger).body).toMatchObject({ code: "MISSING_API_KEY" })
      }),
    concurrent
  )

  it.scoped(
    "ends by POST /v1/calls/<id>/end after its farewell; a second end, and one of a call that was never live, answer 409",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo, { end_session_message: "Ciao." }))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        const unanswered = yield* Line.open(box, () => undefined)
        const early = yield* unanswered.phone
        early.send({ event: "dial", to: unanswered.number, from: Line.caller })
        const { body } = yield* unanswered.customer.until("call.started")
        const ringing = yield* box.api.get(`/v1/calls/${body["call_id"]}/status`)
        expect(ringing.body).toMatchObject({ status: "ringing", duration_seconds: 0, ended_at: null })
        const tooEarly = yield* box.api.post(`/v1/calls/${body["call_id"]}/end`)
        expect([tooEarly.status, tooEarly.body["code"]]).toEqual([409, "CALL_NOT_IN_PROGRESS"])
        const [reply] = yield* Effect.all([box.api.post(`/v1/calls/${callId}/end`), phone.hears("Ciao.")], {
          concurrency: "unbounded"
        })
        expect([reply.status, reply.body]).toEqual([200, { success: true, call_id: callId }])
        yield* phone.until("hangup")
        const state = yield* box.api.get(`/v1/calls/${callId}/status`)
        expect(state.body).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "api" })
        const again = yield* box.api.post(`/v1/calls/${callId}/end`)
        expect([again.status, again.body]).toEqual([
          409,
          { code: "CALL_NOT_IN_PROGRESS", message: "call is not in-progress", error: "call is not in-progress" }
        ])
        const call = yield* CallRecords.settled(box.api, callId)
        expect(CallRecords.spoken(call)).toEqual(["assistant: Hello.", "assistant: Ciao."])
      }),
    concurrent
  )

  it.scoped(
    "ends after inactivity_timeout with a farewell and ended_reason silence-timeout",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () =>
          Line.configuration(echo, { inactivity_timeout: 1, end_session_message: "Ciao." })
        )
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        yield* phone.hears("Ciao.")
        yield* phone.until("hangup")
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "silence-timeout" })
        expect(CallRecords.spoken(call).at(-1)).toBe("assistant: Ciao.")
      }),
    concurrent
  )

  it.scoped(
    "waits for the caller without first_message, reports digits by dtmf_actions, and accepts a withheld number",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () =>
          Line.configuration(echo, { first_message: undefined, dtmf_actions: { "1": "sales" } })
        )
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: "anonymous" })
        const { call_id: callId } = yield* phone.until("answered")
        phone.send({ event: "dtmf", digits: "1#" })
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(CallRecords.spoken(call)).toEqual(["user: Hi", "assistant: Ok Hi."])
        expect(call["from_number"]).toBeNull()
        expect(line.customer.of("call.started")[0]?.body).toMatchObject({ from: null })
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.dataOf(events, "call.dtmf.received")).toMatchObject([
          { digit: "1", action: "sales" },
          { digit: "#", action: "unmapped" }
        ])
        expect(
          events.flatMap(({ data }) => ("from" in data ? [data["from"]] : [])).every((from) => from === null)
        ).toBe(true)
      }),
    concurrent
  )

  it.scoped(
    "can be ended by the model with end_call_enabled, and uses the language and voice of its configuration",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const script = { rules: [{ user: "^bye$", tool: "end_call" }] }
        const line = yield* Line.open(box, () => Line.configuration(script, { language: "nl-NL" }), {
          end_call_enabled: true,
          language: "de-DE"
        })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("bye")
        yield* phone.until("hangup")
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ ended_reason: "agent-hangup", tools_called: ["end_call"] })
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.dataOf(events, "call.ended")).toMatchObject([{ language: "nl-NL" }])
        const asked = yield* get(`${box.url}/telephony/simulated/calls/${callId}`, "GET")
        expect(asked.body).toMatchObject({ stt: { language: "nl-NL" }, tts: { language: "nl-NL", voice: "Sarah" } })
      }),
    concurrent
  )

  it.scoped(
    "does not mix with nine others on the same number, and a phone can call again on its connection",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo, { first_message: undefined }))
        const talk = (word: string) =>
          Effect.gen(function* () {
            const { callId, phone } = yield* line.call
            phone.say(word)
            yield* phone.hears(`Ok ${word}.`)
            phone.hangup()
            return { call: yield* CallRecords.settled(box.api, callId), phone }
          })
        const words = Array.from({ length: 10 }, (_, n) => `W${n}`)
        const talks = yield* Effect.forEach(words, talk, { concurrency: "unbounded" })
        expect(talks.map(({ call }) => CallRecords.spoken(call))).toEqual(
          words.map((word) => [`user: ${word}`, `assistant: Ok ${word}.`])
        )
        expect(new Set(talks.map(({ call }) => call["call_id"])).size).toBe(10)
        const phone = talks[0]?.phone
        if (phone === undefined) return expect.unreachable("there is no phone")
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        yield* phone.until("answered")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
      }),
    concurrent
  )

  it.scoped(
    "is listed by GET /v1/calls with filters and after, newest first",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => ({ json: {} }))
        const ids: Array<string> = []
        for (let n = 0; n < 3; n++) {
          const phone = yield* line.phone
          phone.send({ event: "dial", to: line.number, from: Line.caller })
          const { body } = yield* Effect.tap(line.customer.until("call.started"), () => phone.until("hangup"))
          ids.unshift(String(body["call_id"]))
        }
        yield* Effect.forEach(ids, (id) => CallRecords.settled(box.api, id))
        const path = `/v1/calls?agent_id=${line.agentId}&limit=2`
        const idsOf = (body: unknown) => [at(body, "calls.0.call_id"), at(body, "calls.1.call_id")]
        const first = yield* box.api.get(path)
        expect(idsOf(first.body)).toEqual([ids[0], ids[1]])
        expect(first.body["next_cursor"]).toBe(ids[1])
        const second = yield* box.api.get(`${path}&after=${first.body["next_cursor"]}`)
        expect(idsOf(second.body)).toEqual([ids[2], undefined])
        expect(second.body["next_cursor"]).toBeNull()
        const count = (query: string) =>
          Effect.map(box.api.get(`/v1/calls?agent_id=${line.agentId}&${query}`), ({ body }) => {
            const { calls } = body
            return Array.isArray(calls) ? calls.length : -1
          })
        const today = String(at(first.body, "calls.0.started_at")).slice(0, 10)
        expect(yield* count("status=failed")).toBe(3)
        expect(yield* count("status=completed")).toBe(0)
        expect(yield* count("disposition=failed")).toBe(3)
        expect(yield* count(`from_date=2020-01-01&to_date=${today}`)).toBe(3)
        expect(yield* count("to_date=2020-01-01")).toBe(0)
      }),
    concurrent
  )
})
