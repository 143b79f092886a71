import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { agentSpeaks } from "../src/Dialogue.ts"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, type Input, inCall, initial, type PhoneState, reduce, Update } from "../src/PhoneState.ts"
import { document, recordRows } from "../src/Report.ts"
import { answered, brief, callOf, clear, dialled, heard, play, received, said, texts } from "./PhoneInputs.ts"
import { record } from "./Records.ts"

describe("a call", () => {
  it("goes from dialling to ringing, live and ended with its cause", () => {
    const start = play([0, dialled])
    expect(callOf(start).phase).toBe("dialling")
    const rings = reduce(start, received({ event: "ringing" }), 1)
    expect(callOf(rings).phase).toBe("ringing")
    const live = reduce(rings, answered, 2)
    expect(callOf(live)).toMatchObject({ phase: "live", call_id: "call_1", answered_at: 2 })
    const over = reduce(live, received({ event: "hangup", cause: "agent-hangup" }), 9)
    expect(callOf(over)).toMatchObject({ phase: "ended", ended_by: "them", cause: "agent-hangup", ended_at: 9 })
  })
  it("that is rejected ends at once", () => {
    const state = play([0, dialled], [1, received({ event: "rejected", cause: "busy" })])
    expect(callOf(state)).toMatchObject({ phase: "ended", ended_by: "rejected", cause: "busy" })
  })
  it("ends as lost when the phone is disconnected, and both are logged", () => {
    const state = play(
      [0, PhoneEvent.Connected()],
      [0, dialled],
      [0, answered],
      [5, PhoneEvent.Disconnected({ reason: "gone", retry_ms: 250 })]
    )
    expect(callOf(state)).toMatchObject({ phase: "ended", ended_by: "lost", cause: "gone" })
    expect(texts(state).slice(-2)).toEqual(["the server is away: gone", "the call is lost"])
  })
  it("keeps the cause of its first end", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [1, Action.HungUp()],
      [2, received({ event: "hangup", cause: "late" })]
    )
    expect(callOf(state)).toMatchObject({ ended_by: "us", ended_at: 1 })
  })
  it("ignores the record of another call", () => {
    const state = play([0, dialled], [0, answered], [1, Update.RecordRead({ call: record("call_2") })])
    expect(callOf(state).record).toBeNull()
  })
  it("without an id accepts a record only after its end", () => {
    const read = Update.RecordRead({ call: record("call_9") })
    expect(callOf(play([0, dialled], [1, read])).record).toBeNull()
    const ended = play([0, dialled], [1, received({ event: "hangup", cause: "unavailable" })], [2, read])
    expect(callOf(ended)).toMatchObject({ call_id: "call_9" })
  })
  it("logs each called tool once", () => {
    const with1 = Update.RecordRead({ call: { ...record("call_1"), tools_called: ["a"] } })
    const with2 = Update.RecordRead({ call: { ...record("call_1"), tools_called: ["a", "b"] } })
    const state = play([0, dialled], [0, answered], [1, with1], [2, with1], [3, with2])
    expect(texts(state).filter((t) => t.startsWith("tool"))).toEqual(["tool a", "tool b"])
  })
  it("collects the pressed digits", () => {
    expect(
      callOf(
        play([0, dialled], [0, answered], [1, Action.Pressed({ digits: "1" })], [2, Action.Pressed({ digits: "#" })])
      ).digits
    ).toBe("1#")
  })
})

describe("the connection", () => {
  const away = PhoneEvent.Disconnected({ reason: "nothing answers", retry_ms: 500 })
  it("is logged as lost once and as restored once, whatever the number of attempts", () => {
    const state = play(
      [0, PhoneEvent.Connected()],
      [1, away],
      [500, PhoneEvent.Connecting({ attempt: 2 })],
      [501, away],
      [1000, PhoneEvent.Connected()]
    )
    expect(texts(state)).toEqual([
      "connected to the server",
      "the server is away: nothing answers",
      "the server is back"
    ])
    expect(state.connection).toEqual({ status: "connected", again: true })
  })
  it("has the status away during another attempt", () => {
    expect(play([0, away], [1, PhoneEvent.Connecting({ attempt: 2 })]).connection).toMatchObject({
      status: "away",
      retry_at: 500
    })
  })
  it("counts and logs unreadable messages", () => {
    const state = play([0, PhoneEvent.Unreadable({ raw: "?", reason: "not a message of the network" })])
    expect(state.unreadable).toBe(1)
    expect(texts(state)).toEqual(["unreadable message, not a message of the network"])
  })
})

describe("a call in which something was wrong", () => {
  const failure = {
    stage: "call.started",
    reason: "POST http://127.0.0.1:9/agent answered 404 with text/html in 12 ms",
    hint: "Set the agent's server_url."
  } as const
  const warnings = [{ at: 1.5, what: "tool.call: book", reason: "no answer" }]
  const read = Update.RecordRead({ call: { ...record("call_1"), failure, warnings } })
  const link = Update.LinkRead({ call_id: "call_1", url: "http://127.0.0.1:1/debug/calls/x" })

  it("is noted once, in one line with cause and hint, with the debug page", () => {
    const state = play([0, dialled], [0, answered], [1, read], [2, read], [3, link], [4, link])
    expect(state.log.map(({ text }) => text).slice(-3)).toEqual([
      "warning, tool.call: book: no answer",
      "failed, call.started: POST http://127.0.0.1:9/agent answered 404 with text/html in 12 ms. Set the agent's server_url.",
      "debug page: http://127.0.0.1:1/debug/calls/x"
    ])
  })

  it("is in the report and in the document of --json", () => {
    const { call } = play([0, dialled], [0, answered], [1, read], [3, link])
    if (call === null || call.record === null) throw new Error("there is a call with its record")
    const report = recordRows(call.record, call.debug_url).join("\n")
    expect(report).toContain("404 with text/html in 12 ms. Set the agent's server_url.")
    expect(report).toContain("1.5 s  tool.call: book: no answer")
    expect(report).toContain("http://127.0.0.1:1/debug/calls/x")
    const json: unknown = JSON.parse(document({ exit_code: 1, error: "x", step: 1 }, undefined, call))
    expect(json).toMatchObject({ failure, warnings, debug_url: "http://127.0.0.1:1/debug/calls/x" })
  })
})

const anyInput: fc.Arbitrary<Input> = fc.oneof(
  fc.constantFrom<Input>(
    dialled,
    answered,
    clear,
    Action.HungUp(),
    PhoneEvent.Connected(),
    Update.Ticked(),
    PhoneEvent.Disconnected({ reason: "gone", retry_ms: 100 }),
    received({ event: "ringing" }),
    received({ event: "hangup", cause: "normal" }),
    received({ event: "rejected", cause: "busy" }),
    Update.RecordRead({ call: record("call_1") })
  ),
  fc.record({ text: fc.string(), final: fc.boolean() }).map(({ final, text }) => heard(text, final)),
  fc.string({ minLength: 1 }).map(said)
)

describe("any order of inputs", () => {
  const run = (
    steps: ReadonlyArray<readonly [number, Input]>,
    check: (state: PhoneState, before: PhoneState) => void
  ) => {
    let at = 0
    let state = initial(0)
    for (const [delay, input] of steps) {
      at += delay
      const before = state
      state = reduce(state, input, at)
      check(state, before)
    }
  }
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3000 }), anyInput), { maxLength: 60 })

  it("leaves at most one utterance without an end, and none after the call", () => {
    fc.assert(
      fc.property(steps, (all) =>
        run(all, (state) => {
          const open = state.call?.dialogue.utterances.filter((utterance) => !utterance.final) ?? []
          expect(open.length).toBeLessThanOrEqual(inCall(state) ? 1 : 0)
          if (state.call !== null && !inCall(state)) expect(agentSpeaks(state.call.dialogue)).toBe(false)
        })
      )
    )
  })
  it("never removes utterances and numbers them by their index", () => {
    fc.assert(
      fc.property(steps, (all) =>
        run(all, (state, before) => {
          const now = state.call?.dialogue.utterances ?? []
          expect(now.map((utterance) => utterance.id)).toEqual(now.map((_, n) => n))
          const sameCall = before.call?.dialled_at === state.call?.dialled_at && before.call?.to === state.call?.to
          if (sameCall && (before.call?.dialogue.utterances.length ?? 0) > now.length)
            expect(state.call?.dialogue.utterances).toEqual([])
        })
      )
    )
  })
  it("limits the log to 200 entries with ascending ids", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(10), anyInput), { maxLength: 300 }), (all) =>
        run(all, (state) => {
          expect(state.log.length).toBeLessThanOrEqual(200)
          for (const [n, entry] of state.log.entries()) {
            if (n > 0) expect(entry.id).toBe((state.log[n - 1]?.id ?? 0) + 1)
          }
        })
      ),
      { numRuns: 30 }
    )
  })
})

describe("an outbound call of the agent", () => {
  const incoming = received({ event: "incoming", call_ref: "r", from: "+15550000001", to: "+15550000002" })

  it("rings and then has the states of a dialled call", () => {
    const ringing = play([1, Action.Awaited({ from: "+15550000001" })], [2, incoming])
    expect(callOf(ringing)).toMatchObject({ phase: "ringing", from: "+15550000001", to: "+15550000002" })
    const live = [answered, heard("Hello", true)].reduce((state, input) => reduce(state, input, 3), ringing)
    expect(callOf(live)).toMatchObject({ phase: "live", call_id: "call_1" })
    expect(brief(live)).toEqual(["agent: Hello"])
    expect(texts(live)).toContain("incoming call from +15550000001")
  })

  it("that comes during another call is only logged", () => {
    const state = play([1, dialled], [2, answered], [3, incoming])
    expect(callOf(state)).toMatchObject({ phase: "live", call_id: "call_1", to: "+15550000001" })
  })

  it("has its destination in transferred_to after a transfer", () => {
    const state = play(
      [1, dialled],
      [2, answered],
      [3, received({ event: "transferred", destination: "+15550000009" })]
    )
    expect(callOf(state)).toMatchObject({ phase: "live", transferred_to: "+15550000009" })
  })
})
