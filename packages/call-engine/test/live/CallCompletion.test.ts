import { expect, layer } from "@effect/vitest"
import { Billing } from "@svc/billing/Billing"
import { Providers } from "@svc/providers/Providers"
import { Effect, Layer } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const extraction_schema = { name: { type: "string" }, vip: { type: "boolean" } }

/** What the speech providers were asked for in a call, as `GET /telephony/simulated/calls/<call_id>` returns it. */
const askedOf = (callId: string) =>
  Effect.flatMap(Providers, ({ telephony }) => {
    for (const route of telephony.flatMap(({ routes }) => routes)) {
      if (route._tag !== "Http" || !route.path.startsWith("/calls/")) continue
      const request = {
        method: "GET",
        path: "",
        query: new URLSearchParams(),
        headers: {},
        body: new Uint8Array(),
        params: { call_id: callId },
        remoteAddress: "127.0.0.1"
      }
      return Effect.map(route.handle(request), ({ body }): unknown => JSON.parse(String(body)))
    }
    return Effect.dieMessage("there is no such route")
  })

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
  it.scoped("sends messages by its tool, and emits call.ended after extraction and post_call_sms", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const script = {
        rules: [{ user: "text", tool: "svc_send_sms", arguments: { to: "{{from}}", message: "Hi {{from}}" } }],
        otherwise: "Sent.",
        extract: { name: "I am (\\w+)" }
      }
      const { number, project, server } = yield* agentOnNumber(() =>
        configuration(script, {
          tools: [{ name: "svc_send_sms" }],
          stt_format: "numerals",
          stt_keyterms: ["Anna", "", "anna"],
          extraction_schema,
          post_call: { sms: { to: "caller", message: "Bye {{call_id}}" } }
        })
      )
      const caller = yield* dial(number)
      yield* caller.until("answered")
      yield* caller.hears(/^Hello\.$/)
      caller.send({ event: "say", text: "I am Anna, text me" })
      const from = "+15550000001"
      expect(yield* caller.until("sms")).toEqual({ event: "sms", to: from, from: number, message: `Hi ${from}` })
      yield* caller.hears(/^Sent\.$/)
      caller.send({ event: "hangup" })
      const record = yield* Record.settled(number)
      expect(yield* caller.until("sms")).toMatchObject({ message: `Bye ${record.call_id}` })
      const extracted_data = { name: "Anna", vip: null }
      expect(yield* calls.get(project, record.call_id)).toMatchObject({
        extracted_data,
        tools_called: ["svc_send_sms"],
        tool_call_count: 1
      })
      expect(Record.dataOf(record, "call.ended")).toMatchObject([{ extracted_data }])
      expect(Record.dataOf(record, "sms.sent")).toMatchObject([
        { call_id: record.call_id, from, to: from, from_number: number, sender_type: "number", status: "sent" },
        { call_id: record.call_id, message: `Bye ${record.call_id}`, status: "sent" }
      ])
      const order = record.events.map(({ event }) => event)
      expect(order.filter((event) => /^(tool|sms)\./.test(event))).toEqual([
        "tool.invoked",
        "sms.sent",
        "tool.completed",
        "sms.sent"
      ])
      expect(order.indexOf("speech.ended")).toBeLessThan(order.indexOf("sms.sent"))
      expect(order.at(-1)).toBe("call.ended")
      expect(server.received.filter(({ event }) => event === "tool.call")).toEqual([])
      expect(yield* askedOf(record.call_id)).toEqual({
        stt: { language: "en-US", format: "numerals", keyterms: ["Anna", "anna"] },
        tts: { language: "en-US", voice: "Sarah" }
      })
    })
  )

  it.scoped("that is over releases its slot before extraction is done, and cannot be ended again", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const calls = yield* Calls
      const script = { rules: [], first_token_ms: 1000 }
      const { number, owner, project } = yield* agentOnNumber(() => configuration(script, { extraction_schema }))
      const caller = yield* dial(number)
      yield* caller.hears(/^Hello\.$/)
      expect(yield* billing.liveCalls(owner.org.id)).toBe(1)
      caller.send({ event: "hangup" })
      yield* until(billing.liveCalls(owner.org.id), (live) => live === 0)
      const during = yield* Record.now(number)
      expect(during?.ended_at).toBeNull()
      const error = yield* Effect.flip(calls.end(project, during?.call_id ?? ""))
      expect(error.code).toBe("CALL_NOT_IN_PROGRESS")
      const record = yield* Record.settled(number)
      expect(record.outcome).toBe("completed answered caller-hangup")
      expect(Record.dataOf(record, "call.ended")).toMatchObject([{ extracted_data: { name: null, vip: null } }])
    })
  )
})
