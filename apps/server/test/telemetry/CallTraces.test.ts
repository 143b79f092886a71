import { expect, it } from "@effect/vitest"
import { noLine } from "@svc/api/calls/CallUsage"
import { CallId } from "@svc/api/Ids"
import { callSummary } from "@svc/api/testing/CallFixtures"
import { SettledCalls } from "@svc/call-engine/record/SettledCalls"
import { type RecordedSources, Timelines } from "@svc/call-engine/record/Timelines"
import { Context, Effect, Layer, TestClock } from "effect"
import { describe } from "vitest"
import type { Span } from "../../src/telemetry/CallSpans.ts"
import { callTraces } from "../../src/telemetry/CallTraces.ts"
import { Telemetry } from "../../src/telemetry/Telemetry.ts"
import { traceIdOf } from "../../src/telemetry/TraceIds.ts"

const call = (digit: string) => CallId.make(`call_${digit.repeat(24)}`)

const sources = (call_id: CallId, ended_at: string | null): RecordedSources => ({
  call: {
    ...callSummary({ call_id, started_at: "2026-11-23T10:00:00.000Z", ended_at }),
    transcript: [],
    failure: null,
    warnings: [],
    warnings_dropped: 0,
    usage: null,
    line: { telephony: "simulated", ...noLine },
    llm_cost: 0
  },
  journal: undefined,
  pluginOf: () => null,
  serverRequests: [],
  serverRequestsLeftOut: 0
})

const over = "2026-11-23T10:01:00.000Z"

/** The worker with a sink of limited room; each call is read by `read`. */
const worker = (read: (id: CallId) => RecordedSources, state = { room: 10, isSampled: true }) =>
  Effect.gen(function* () {
    const spans: Array<Span> = []
    const offer = (span: Span): void => {
      spans.push(span)
      state.room--
    }
    const traces = {
      spans: { offer, room: () => state.room },
      isSampled: () => state.isSampled
    }
    const context = yield* Layer.build(callTraces).pipe(
      Effect.provideService(Telemetry, { traces }),
      Effect.provideService(Timelines, {
        open: (_, id) => Effect.succeed({ read: Effect.sync(() => read(CallId.make(id))) })
      })
    )
    const settled = Context.unsafeGet(context as Context.Context<SettledCalls>, SettledCalls)
    const settle = (...ids: ReadonlyArray<CallId>) => {
      for (const public_id of ids) settled.add({ public_id, project_id: 7 })
    }
    return { settle, state, traced: () => spans.map(({ traceId }) => traceId) }
  })

describe("the traces of calls", () => {
  it.scoped("are made when a call was settled, and again tried while its settlement is not visible", () =>
    Effect.gen(function* () {
      let isVisible = false
      const { settle, traced } = yield* worker((id) => sources(id, isVisible ? over : null))
      settle(call("1"))
      yield* TestClock.adjust("1 second")
      expect(traced()).toEqual([])
      isVisible = true
      yield* TestClock.adjust("1 second")
      expect(traced()).toEqual([traceIdOf(call("1"))])
    })
  )

  it.scoped("wait for room, and are not made of calls that are not sampled", () =>
    Effect.gen(function* () {
      const { settle, state, traced } = yield* worker((id) => sources(id, over), { room: 1, isSampled: true })
      settle(call("1"), call("2"), call("3"))
      yield* TestClock.adjust("3 seconds")
      expect(traced()).toEqual([traceIdOf(call("1"))])
      state.room = 1
      yield* TestClock.adjust("1 second")
      expect(traced()).toHaveLength(2)
      state.isSampled = false
      settle(call("4"))
      state.room = 10
      yield* TestClock.adjust("1 second")
      expect(traced()).toEqual(["1", "2", "3"].map((digit) => traceIdOf(call(digit))))
    })
  )

  it.effect("of calls that wait when the server stops are made without waiting for room", () =>
    Effect.gen(function* () {
      const made = yield* Effect.scoped(
        Effect.gen(function* () {
          const { settle, traced } = yield* worker((id) => sources(id, over), { room: 1, isSampled: true })
          settle(call("1"), call("2"), call("3"))
          yield* TestClock.adjust("1 second")
          return traced
        })
      )
      expect(new Set(made())).toEqual(new Set(["1", "2", "3"].map((digit) => traceIdOf(call(digit)))))
    })
  )

  it.scoped("go on after a call that cannot be read", () =>
    Effect.gen(function* () {
      const { settle, traced } = yield* worker((id) => {
        if (id === call("1")) throw new Error("a journal that nobody can read")
        return sources(id, over)
      })
      settle(call("1"), call("2"))
      yield* TestClock.adjust("1 second")
      expect(traced()).toEqual([traceIdOf(call("2"))])
    })
  )
})
