import { expect, it } from "@effect/vitest"
import type { Call } from "@svc/api/calls/Call"
import { CallId } from "@svc/api/Ids"
import { Deferred, Effect, Fiber, Schema } from "effect"
import type { RenderedCall } from "../../../src/http/debug-page/DebugPage.ts"
import { stream } from "../../../src/http/debug-page/DebugStream.ts"
import type { Snapshot } from "../../../src/http/debug-page/DebugWatch.ts"

const call: Call = {
  call_id: Schema.decodeSync(CallId)(`call_${"c".repeat(24)}`),
  agent_id: null,
  from_number: null,
  to_number: null,
  status: "in-progress",
  disposition: null,
  ended_reason: null,
  duration_seconds: 0,
  minutes_used: 0,
  rate_per_minute: 0,
  total_cost: 0,
  call_cost: 0,
  recording_cost: 0,
  llm_discount: 0,
  transfer_cost: 0,
  transfer_duration_seconds: 0,
  transferred_to: null,
  has_recording: false,
  recording_enabled: false,
  turn_count: 0,
  tool_call_count: 0,
  tools_called: [],
  metadata: {},
  ws_unavailable: false,
  extracted_data: {},
  started_at: "2026-11-01T09:30:00.000Z",
  ended_at: null,
  transcript: [],
  failure: null,
  warnings: [],
  warnings_dropped: 0,
  latency_data: { turns: [] }
}

const link = { id: 1, scope: "full", call: { id: 1, public_id: call.call_id, project_id: 1 } } as const

const snapshot = (text: string, isEnded = false): Snapshot => {
  const content: RenderedCall = { top: text, rest: "", json: { top: text, rest: "" } }
  const ended_at = isEnded ? "2026-11-01T09:31:00.000Z" : null
  const view = { call: { ...call, ended_at }, timeline: undefined, serverRequests: [] }
  return { open: new Set([1]), view, content: () => Effect.succeed(content), version: text }
}

it.effect("a client that does not read gets nothing until it reads again, and then the newest content", () =>
  Effect.gen(function* () {
    const pushed: Array<string> = []
    let isBehind = false
    let current = snapshot("one")
    let pulse = yield* Deferred.make<void>()
    const tick = (next: Snapshot) =>
      Effect.gen(function* () {
        const before = pulse
        current = next
        pulse = yield* Deferred.make<void>()
        yield* Deferred.succeed(before, undefined)
        yield* Effect.yieldNow({ priority: 1 })
      })
    const watched = {
      latest: () => current,
      next: Effect.map(
        Effect.suspend(() => Deferred.await(pulse)),
        () => current
      )
    }
    const writer = {
      write: () => Effect.void,
      push: (piece: string | Uint8Array) => void pushed.push(String(piece)),
      isBehind: () => isBehind,
      isStopping: () => false
    }
    const fiber = yield* Effect.fork(stream(watched, link, "/debug/calls/x", writer))
    yield* Effect.yieldNow({ priority: 1 })
    isBehind = true
    for (const text of ["two", "three", "four"]) yield* tick(snapshot(text))
    expect(pushed).toEqual([`data: "one"\n\n`])
    isBehind = false
    for (let i = 0; i < 4; i++) yield* tick(snapshot("five", true))
    yield* Fiber.join(fiber)
    expect(pushed).toEqual([`data: "one"\n\n`, `data: "five"\n\n`, "event: over\ndata: {}\n\n"])
  })
)
