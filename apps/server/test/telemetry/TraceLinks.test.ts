import { ConfigProvider, Effect } from "effect"
import { describe, expect, it } from "vitest"
import { describe as describeError } from "../../src/Settings.ts"
import { Telemetry } from "../../src/telemetry/Telemetry.ts"
import { isSampled, rootSpanIdOf, spanIdOf, traceIdOf } from "../../src/telemetry/TraceIds.ts"
import { traceLinks } from "../../src/telemetry/TraceLinks.ts"

const spans = { offer: () => {}, room: () => 0 }

const linkOf = (template: string | undefined, sampled: boolean | undefined) =>
  Effect.map(traceLinks, (link) => link("call_1")).pipe(
    Effect.provideService(
      Telemetry,
      sampled === undefined ? undefined : { traces: { spans, isSampled: () => sampled } }
    ),
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map(template === undefined ? [] : [["SVC_TRACE_URL", template]]))
    ),
    Effect.either,
    Effect.runSync
  )

describe("the link to a trace", () => {
  it("has the trace's id in the place of {trace_id}", () => {
    expect(linkOf("https://traces.example/{trace_id}?a={trace_id}", true)).toMatchObject({
      right: `https://traces.example/${traceIdOf("call_1")}?a=${traceIdOf("call_1")}`
    })
  })

  it.each([
    [undefined, true],
    ["https://traces.example/{trace_id}", false],
    ["https://traces.example/{trace_id}", undefined]
  ])("is not there with SVC_TRACE_URL %s and a call that is sampled: %s", (template, sampled) => {
    expect(linkOf(template, sampled)).toMatchObject({ right: undefined })
  })

  it.each(["https://traces.example/", "javascript:alert({trace_id})", "{trace_id}"])(
    "refuses SVC_TRACE_URL %s",
    (template) => {
      const result = linkOf(template, true)
      expect(result._tag === "Left" ? describeError(result.left) : "accepted").toBe(
        "SVC_TRACE_URL must be a URL that begins with http:// or https:// and has {trace_id} in it"
      )
    }
  )
})

describe("ids of traces", () => {
  it("are those of W3C Trace Context, the same each time, and differ by call and span", () => {
    expect(traceIdOf("call_1")).toMatch(/^[0-9a-f]{32}$/)
    expect(rootSpanIdOf("call_1")).toMatch(/^[0-9a-f]{16}$/)
    expect(traceIdOf("call_1")).toBe(traceIdOf("call_1"))
    const ids = ["call_1", "call_2"].flatMap((call) => [traceIdOf(call), rootSpanIdOf(call), spanIdOf(call, "turn 0")])
    expect(new Set(ids).size).toBe(6)
  })

  it("are sampled in the share that is asked for, and more of them in a larger share", () => {
    const ids = Array.from({ length: 2000 }, (_, n) => traceIdOf(`call_${n}`))
    const inShare = (share: number) => ids.filter((id) => isSampled(id, share))
    expect([inShare(0).length, inShare(1).length]).toEqual([0, 2000])
    expect(inShare(0.25).length).toBeGreaterThan(400)
    expect(inShare(0.25).length).toBeLessThan(600)
    expect(inShare(0.5)).toEqual(expect.arrayContaining(inShare(0.25)))
  })
})
