import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Queue } from "effect"
import { endedBy } from "../src/HangupCause.ts"
import { setUp } from "../src/testing/TelnyxSetup.ts"
import { eventOf } from "../src/WebhookEvent.ts"
import { incomingOf, numbers } from "./TestCalls.ts"

const read = (data: unknown) => Option.getOrUndefined(eventOf(new TextEncoder().encode(JSON.stringify({ data }))))

describe("WebhookEvent", () => {
  it("reads an event of a call with fields of other types than documented, without those fields", () => {
    const payload = { call_control_id: "v3:1", result: { verdict: "human" }, from: 7, hangup_cause: "user_busy" }
    expect(read({ id: 5, event_type: "call.new_thing", payload })).toMatchObject({
      _tag: "Call",
      id: "",
      type: "call.new_thing",
      payload: { call_control_id: "v3:1", result: null, from: null, hangup_cause: "user_busy" }
    })
  })

  it("keeps the headers of a call that can be read", () => {
    const header = { name: "X-Id", value: "1" }
    const event = read({
      event_type: "call.initiated",
      payload: { call_control_id: "v3:1", sip_headers: [{ name: "X" }, header], custom_headers: "none" }
    })
    expect(event).toMatchObject({ payload: { sip_headers: [null, header], custom_headers: null } })
  })

  it("says which event lacks what is needed, and reads none from a body without data.event_type", () => {
    expect(read({ event_type: "call.hangup", payload: {} })).toEqual({ _tag: "Incomplete", type: "call.hangup" })
    expect(read({ event_type: "call.hangup" })).toEqual({ _tag: "Incomplete", type: "call.hangup" })
    expect(read({ event_type: "message.received", payload: { id: "1" } })).toMatchObject({ _tag: "Incomplete" })
    expect(read({ event_type: "fax.received" })).toEqual({ _tag: "Other", type: "fax.received" })
    expect(read({ payload: {} })).toBeUndefined()
  })
})

it.scopedLive("a signed event that cannot be used gets 200 and changes nothing", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const calls = yield* incomingOf(setup)
    const { webhooks, webhookUrl } = setup.carrier
    const payloads = [undefined, null, 7, {}, { call_control_id: null }, { call_control_id: 7, ...numbers }]
    for (const payload of payloads) {
      expect(yield* webhooks.send(webhookUrl, "call.initiated", payload)).toBe(200)
      expect(yield* webhooks.send(webhookUrl, "message.received", payload)).toBe(200)
      expect(yield* webhooks.send(webhookUrl, "something.new", payload)).toBe(200)
    }
    expect(yield* Queue.size(calls)).toBe(0)
    expect(setup.double.logged.some(({ message }) => message.includes("call.initiated"))).toBe(true)
    expect(yield* webhooks.send(webhookUrl, "x", {}, { forge: () => "{}" })).toBe(403)
  })
)

describe("HangupCause", () => {
  it("counts a hang-up without hangup_cause as a normal end, and an unspecified one of unknown source as failed", () => {
    expect(endedBy({ call_control_id: "v3:1" })).toEqual({
      _tag: "Ended",
      cause: "hangup",
      reason: "Telnyx says no cause"
    })
    const unspecified = { call_control_id: "v3:1", hangup_cause: "unspecified" }
    expect(endedBy({ ...unspecified, hangup_source: "unknown" }).cause).toBe("failed")
    expect(endedBy({ ...unspecified, hangup_source: "caller" }).cause).toBe("hangup")
  })
})
