import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { distrust, type Received } from "../src/blackbox/CustomerServer.ts"
import { eventually, Inbox } from "../src/blackbox/Inbox.ts"
import { misfits, type Shape } from "../src/blackbox/Shape.ts"

const raw = '{"event":"tool.call","call_id":"call_1"}'
const signed: Received = {
  event: "tool.call",
  body: { event: "tool.call", call_id: "call_1" },
  raw,
  method: "POST",
  path: "/agent",
  headers: {
    "content-type": "application/json",
    "x-svc-signature": `sha256=${createHmac("sha256", "secret").update(raw).digest("hex")}`,
    "x-svc-event": "tool.call",
    "x-svc-timestamp": "1000",
    "x-call-id": "call_1"
  },
  at: 1_000_500,
  over: Promise.resolve()
}

const failureOf = <A>(effect: Effect.Effect<A>) =>
  Effect.map(Effect.sandbox(effect).pipe(Effect.flip), (cause) => String(Cause.squash(cause)))

describe("The judges of the outside tests", () => {
  it("trust a request that is signed, and no other", () => {
    expect(distrust(signed, "secret")).toEqual([])
    expect(distrust(signed, "other")).toHaveLength(1)
    expect(distrust({ ...signed, raw: `${raw} ` }, "secret")).toHaveLength(1)
    expect(distrust({ ...signed, at: 2_000_000 }, "secret")).toHaveLength(1)
    expect(distrust({ ...signed, headers: {} }, "secret")).toHaveLength(5)
  })

  it("see fields that are missing, of another kind, or too many", () => {
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

  it.live("say what came instead when they waited in vain", () =>
    Effect.gen(function* () {
      const inbox = new Inbox<string>("the phone")
      inbox.push("one")
      const late = yield* failureOf(inbox.next("two", (item) => item === "two", "20 millis"))
      expect(late).toBe('Error: the phone waited in vain for two; it got ["one"]')
      inbox.close("the line was closed")
      expect(yield* failureOf(inbox.next("two", (item) => item === "two"))).toMatch(/the line was closed$/)
      expect(yield* inbox.next("one", (item) => item === "one")).toBe("one")
      const never = yield* failureOf(eventually("a miracle", Effect.succeed(5), () => false, "20 millis"))
      expect(never).toBe("Error: a miracle: waited in vain; last seen 5")
    })
  )
})
