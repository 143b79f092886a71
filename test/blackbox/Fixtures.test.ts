import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { type Received, requestFaults } from "../src/blackbox/CustomerServer.ts"
import { eventually, Inbox } from "../src/blackbox/Inbox.ts"
import { misfits, type Shape } from "../src/blackbox/Shape.ts"

const raw = '{"event":"tool.call","call_id":"call_1"}'
const hmac = (text: string) => createHmac("sha256", "secret").update(text).digest("hex")
const signed: Received = {
  event: "tool.call",
  body: { event: "tool.call", call_id: "call_1" },
  raw,
  method: "POST",
  path: "/agent",
  headers: {
    "content-type": "application/json",
    "x-svc-signature": `sha256=${hmac(raw)}`,
    "x-svc-signature-v1": `t=1000,v1=${hmac(`1000.${raw}`)}`,
    "x-svc-event": "tool.call",
    "x-svc-timestamp": "1000",
    "x-call-id": "call_1"
  },
  at: 1_000_500,
  over: Promise.resolve()
}

const failureOf = <A>(effect: Effect.Effect<A>) =>
  Effect.map(Effect.sandbox(effect).pipe(Effect.flip), (cause) => String(Cause.squash(cause)))

describe("The fixtures of the black-box tests", () => {
  it("accept a request with a valid signature only", () => {
    expect(requestFaults(signed, "secret")).toEqual([])
    expect(requestFaults(signed, "other")).toHaveLength(2)
    expect(requestFaults({ ...signed, raw: `${raw} ` }, "secret")).toHaveLength(2)
    expect(requestFaults({ ...signed, at: 2_000_000 }, "secret")).toHaveLength(1)
    expect(requestFaults({ ...signed, headers: {} }, "secret")).toHaveLength(6)
  })

  it("report fields that are missing, unexpected, or of the wrong type", () => {
    const shape: Shape = { a: "text", b: "integer?", c: "time" }
    const fits = { a: "", b: null, c: "2026-11-01T09:30:00.000Z" }
    expect(misfits(shape, fits)).toEqual([])
    expect(misfits(shape, { ...fits, a: null })).toHaveLength(1)
    expect(misfits(shape, { ...fits, b: 1.5 })).toHaveLength(1)
    expect(misfits(shape, { ...fits, c: "2026-11-01" })).toHaveLength(1)
    expect(misfits(shape, { ...fits, d: 1 })).toEqual(["d is unknown"])
    expect(misfits(shape, { a: "" })).toHaveLength(2)
    expect(misfits(shape, [])).toHaveLength(1)
  })

  it.live("name what arrived instead when a wait times out", () =>
    Effect.gen(function* () {
      const inbox = new Inbox<string>("the phone")
      inbox.push("one")
      const late = yield* failureOf(inbox.next("two", (item) => item === "two", "20 millis"))
      expect(late).toBe('Error: the phone timed out waiting for two; it got ["one"]')
      inbox.close("the line was closed")
      expect(yield* failureOf(inbox.next("two", (item) => item === "two"))).toMatch(/the line was closed$/)
      expect(yield* inbox.next("one", (item) => item === "one")).toBe("one")
      const never = yield* failureOf(eventually("a miracle", Effect.succeed(5), () => false, "20 millis"))
      expect(never).toBe("Error: a miracle: timed out; last seen 5")
    })
  )
})
