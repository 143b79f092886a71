import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"

const concurrent = { concurrent: true, timeout: 60_000 }

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("Digits", (it) => {
  it.scoped(
    "choose from a pre_gather menu, and are collected for a tool with gather",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const script = {
          rules: [
            { user: "order", tool: "order" },
            { tool_result: "order", say: "Order {{result.number}}." }
          ],
          otherwise: "Ok."
        }
        const gather = { prompt: "Type your order number.", max_digits: 6 }
        const line = yield* Line.open(box, ({ body, event }) => {
          if (event === "tool.call") return { json: { result: { number: textAt(body, "arguments.gathered_input") } } }
          if (event !== "call.started") return { json: {} }
          return body["gather_status"] === null
            ? { json: { pre_gather: { prompt: "Press one for orders.", timeout: 20 } } }
            : Line.configuration(script, { tools: [{ name: "order", gather }] })
        })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Press one for orders.")
        phone.send({ event: "dtmf", digits: "1" })
        yield* phone.hears("Hello.")
        phone.say("My order")
        yield* phone.hears("Type your order number.")
        phone.send({ event: "dtmf", digits: "4711#" })
        yield* phone.hears("Order 4711.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(call).toMatchObject({ status: "completed", disposition: "answered", tools_called: ["order"] })
        expect(line.customer.of("call.started").map(({ body }) => body)).toMatchObject([
          { gathered_digit: null, gathered_input: null, gather_status: null },
          { gathered_digit: "1", gathered_input: "1", gather_status: "valid" }
        ])
        expect(line.customer.of("tool.call")[0]?.body).toMatchObject({
          arguments: { gathered_input: "4711", gather_status: "valid" }
        })
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.dataOf(events, "call.gather.completed")).toMatchObject([
          { status: "completed", input: "1" },
          { status: "completed", input: "4711" }
        ])
        expect(
          CallRecords.dataOf(events, "call.dtmf.received").map(({ action, digit }) => `${digit} ${action}`)
        ).toEqual([..."14711#"].map((digit) => `${digit} gather`))
        expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
      }),
    concurrent
  )

  it.scoped(
    "fail the call when the agent's server does not answer after the menu; a caller or the API can end a menu",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, ({ body, event }) => {
          if (event !== "call.started") return { json: {} }
          return body["gather_status"] === null
            ? { json: { pre_gather: { prompt: "Press one.", digits: 2, timeout: 20 } } }
            : undefined
        })
        const atMenu = Effect.tap(line.call, ({ phone }) => phone.hears("Press one."))
        const [hanging, leaving, ended] = yield* Effect.all([atMenu, atMenu, atMenu], { concurrency: 3 })

        hanging.phone.send({ event: "dtmf", digits: "12" })
        leaving.phone.send({ event: "dtmf", digits: "1" })
        leaving.phone.hangup()
        const gather = yield* box.api.post(`/v1/calls/${ended.callId}/gather`, { prompt: "Type." })
        expect([gather.status, gather.body["code"]]).toEqual([409, "GATHER_ALREADY_ACTIVE"])
        const end = yield* box.api.post(`/v1/calls/${ended.callId}/end`)
        expect([end.status, end.body["success"]]).toEqual([200, true])

        const outcomeOf = ({ callId }: { readonly callId: string }) =>
          Effect.gen(function* () {
            const { ended_reason, status } = yield* CallRecords.settled(box.api, callId)
            const events = yield* CallRecords.eventsOf(callId)
            expect(CallRecords.misfitsOf(events)).toEqual([])
            const gathered = CallRecords.dataOf(events, "call.gather.completed").map(
              (d) => `${d["status"]} ${d["input"]}`
            )
            const names = CallRecords.namesOf(events, "call.").filter((name) => name !== "call.dtmf.received")
            return [`${status} ${ended_reason}`, ...gathered, ...names.slice(2)]
          })
        expect(yield* outcomeOf(leaving)).toEqual([
          "completed caller-hangup",
          "timeout 1",
          "call.gather.completed",
          "call.ended"
        ])
        expect(yield* outcomeOf(ended)).toEqual([
          "completed api",
          "timeout null",
          "call.gather.completed",
          "call.ended"
        ])
        expect(yield* outcomeOf(hanging)).toEqual([
          "failed error",
          "completed 12",
          "call.gather.completed",
          "call.ended",
          "call.failed"
        ])
      }),
    concurrent
  )

  it.scoped(
    "are collected by POST /v1/calls/<id>/gather: 202, and 409 while another gather is active and after the call",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration({ otherwise: "Ok." }))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        const gather = (body: unknown, id = callId) => box.api.post(`/v1/calls/${id}/gather`, body)

        const refused = yield* Effect.forEach(
          [
            {},
            { prompt: " " },
            { prompt: 1 },
            { prompt: "Type.", max_digits: 0 },
            { prompt: "Type.", max_digits: 21 },
            { prompt: "Type.", max_digits: 1.5 },
            { prompt: "Type.", timeout_seconds: 4 },
            { prompt: "Type.", timeout_seconds: 61 },
            { prompt: "Type.", terminator: "##" },
            { prompt: "Type.", language: "xx-XX" },
            { prompt: "Type.", voice: "Nobody" }
          ],
          (body) => gather(body)
        )
        expect(
          refused.map(({ body, status }) => `${status} ${textAt(body, "code")} ${textAt(body, "message")}`)
        ).toEqual([
          "400 VALIDATION_ERROR prompt is required.",
          "400 VALIDATION_ERROR prompt is required.",
          "400 VALIDATION_ERROR prompt must be a string",
          "400 VALIDATION_ERROR max_digits must be between 1 and 20",
          "400 VALIDATION_ERROR max_digits must be between 1 and 20",
          "400 VALIDATION_ERROR max_digits must be between 1 and 20",
          "400 VALIDATION_ERROR timeout_seconds must be between 5 and 60",
          "400 VALIDATION_ERROR timeout_seconds must be between 5 and 60",
          "400 VALIDATION_ERROR terminator must be one key of 0-9, * and #, or empty",
          "400 VALIDATION_ERROR language must be a supported BCP-47 code",
          "400 VALIDATION_ERROR voice not available for the selected language"
        ])

        const accepted = yield* gather({ prompt: "Type your number.", max_digits: 2, terminator: "", something: 1 })
        expect(accepted.status).toBe(202)
        expect(accepted.body).toEqual({ message: expect.any(String), call_id: expect.any(Number) })
        const second = yield* gather({ prompt: "Another." })
        expect([second.status, second.body["code"]]).toEqual([409, "GATHER_ALREADY_ACTIVE"])
        yield* phone.hears("Type your number.")
        phone.send({ event: "dtmf", digits: "42" })
        yield* eventually("the outcome", CallRecords.eventsOf(callId), (events) =>
          CallRecords.namesOf(events).includes("call.gather.completed")
        )
        // The numeric id of the answer addresses the call too.
        const again = yield* gather({ prompt: "More." }, textAt(accepted.body, "call_id"))
        expect(again.status).toBe(202)
        phone.hangup()
        yield* CallRecords.settled(box.api, callId)
        const late = yield* gather({ prompt: "Late." })
        expect([late.status, late.body["code"]]).toEqual([409, "CALL_NOT_IN_PROGRESS"])
        const unknown = yield* gather({ prompt: "Whose?" }, "call_000000000000000000000000")
        expect([unknown.status, unknown.body["code"]]).toEqual([404, "CALL_NOT_FOUND"])
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        // The end of the call ended the second gather.
        expect(CallRecords.dataOf(events, "call.gather.completed")).toMatchObject([
          { status: "completed", input: "42" },
          { status: "timeout", input: null }
        ])
        expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
      }),
    concurrent
  )
})
