import { type CallTimeline, gatherBegins } from "@svc/api/calls/CallTimeline"
import { AgentId, EventId } from "@svc/api/Ids"
import { Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isGathering } from "../src/CallView.ts"
import { agentSpeaks } from "../src/Dialogue.ts"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, type Input, Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { inCall, initial, type PhoneState } from "../src/PhoneState.ts"
import { document, recordRows } from "../src/Report.ts"
import { answered, brief, callOf, clear, dialled, heard, play, received, said, texts } from "./PhoneInputs.ts"
import { phoneNumber, timelineOf } from "./Records.ts"

const read = (
  callId: string,
  ...change: [change?: Partial<CallTimeline>, call?: Partial<CallTimeline["call"]>]
): Input => Update.TimelineRead({ call: 1, timeline: timelineOf(callId, ...change) })

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
    const state = play([0, dialled], [0, answered], [1, read("call_2")])
    expect(callOf(state).record).toBeNull()
  })
  it("without an id accepts a record only after its end", () => {
    const found = read("call_9")
    expect(callOf(play([0, dialled], [1, found])).record).toBeNull()
    const ended = play([0, dialled], [1, received({ event: "hangup", cause: "unavailable" })], [2, found])
    expect(callOf(ended)).toMatchObject({ call_id: "call_9" })
  })
  it("logs each called tool once", () => {
    const with1 = read("call_1", {}, { tools_called: ["a"] })
    const with2 = read("call_1", {}, { tools_called: ["a", "b"] })
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

describe("a number", () => {
  const numbers = [
    { ...phoneNumber("+15550000001"), agent_id: Schema.decodeSync(AgentId)(`agent_${"a".repeat(24)}`) },
    phoneNumber("+15550000003", 3)
  ]
  const listed = Update.NumbersListed({ numbers, agents: [] })
  const unavailable = received({ event: "rejected", cause: "unavailable" })
  const dialledTo = (to: string) => Action.Dialled({ to, from: "+15550000002" })

  it.each([
    ["that is not listed", "+15550000009", "no agent has this number"],
    ["without an agent", "+15550000003", "no agent has this number"],
    ["with an agent", "+15550000001", `agent_${"a".repeat(24)} takes no calls at the moment`]
  ])("%s says why a call to it is unavailable", (_, to, meaning) => {
    const state = play([0, listed], [1, dialledTo(to)], [2, unavailable])
    expect(callOf(state)).toMatchObject({ cause: "unavailable", meaning })
    expect(texts(state)).toContain(`rejected: ${meaning}`)
  })
  it("says only what is known while the numbers are not", () => {
    expect(callOf(play([1, dialled], [2, unavailable])).meaning).toBe(
      "no agent has this number, or its agent takes no calls at the moment"
    )
  })
  it("that was rejected shows the reason of the record once it is read, if it is not known before", () => {
    const failure = { stage: "telephony", reason: "the account has no credits", hint: "Add credits." } as const
    const state = play([0, listed], [1, dialled], [2, unavailable], [3, read("call_9", { failure })])
    expect(callOf(state).meaning).toBe("the account has no credits")
    const refused = play(
      [0, listed],
      [1, dialledTo("+15550000003")],
      [2, unavailable],
      [3, read("call_9", { failure })]
    )
    expect(callOf(refused).meaning).toBe("no agent has this number")
  })
})

describe("the calls before", () => {
  const hungUp = Action.HungUp()
  const two = play([0, dialled], [1, answered], [2, heard("Hello", true)], [3, hungUp], [4, dialled])

  it("are kept, the newest first, with their transcript", () => {
    const three = [answered, hungUp, dialled].reduce((state, input) => reduce(state, input, 5), two)
    expect(three.past.map(({ id }) => id)).toEqual([2, 1])
    expect(three.past[1]?.dialogue.utterances.map(({ text }) => text)).toEqual(["Hello"])
    expect(callOf(three).id).toBe(3)
  })
  it("get a timeline that is read late, and the call that follows does not", () => {
    const state = reduce(two, read("call_1", {}, { status: "completed" }), 9)
    expect(state.past[0]?.record?.status).toBe("completed")
    expect(callOf(state).record).toBeNull()
  })
  it("without an id get no timeline once the next call has begun: it may be that of the next call", () => {
    const refused = play([0, dialled], [1, received({ event: "rejected", cause: "busy" })], [2, dialled])
    const state = reduce(refused, read("call_2"), 3)
    expect(state.past[0]).toMatchObject({ call_id: null, record: null })
  })
  it("have ended, even if the next one was dialled before", () => {
    const state = play([0, dialled], [1, dialled])
    expect(state.past).toMatchObject([{ id: 1, phase: "ended", cause: "the next call was dialled" }])
  })
  it("are 30 at most", () => {
    const many = Array.from({ length: 40 }, () => [dialled, hungUp]).flat()
    expect(many.reduce((state, input) => reduce(state, input, 1), initial(0)).past).toHaveLength(30)
  })
})

describe("the timeline of a call", () => {
  const live = play([0, dialled], [1, answered])
  const event = (actor: "server" | "event" | "call", what: string) => ({ at: 1, actor, what, data: null })
  const menu = event("server", gatherBegins.menu)
  const request = event("call", gatherBegins.request)
  const completed = event("event", "call.gather.completed")

  it.each([
    ["in a menu", [menu], true],
    ["after a menu", [menu, completed], false],
    ["when the API asks for digits", [menu, completed, request], true],
    ["without a menu", [], false]
  ])("says whether the agent waits for digits %s", (_, events, expected) => {
    const state = reduce(live, read("call_1", { events }), 2)
    expect(isGathering(callOf(state))).toBe(expected)
    expect(isGathering(callOf(reduce(state, Action.HungUp(), 3)))).toBe(false)
  })
  it("that was read before the call ended does not replace that of its end when it comes late", () => {
    const ended = read("call_1", {}, { status: "completed", ended_at: "2026-11-01T09:31:00.000Z" })
    const state = [ended, read("call_1")].reduce((before, input) => reduce(before, input, 2), live)
    expect(callOf(state).record).toMatchObject({ status: "completed", ended_at: "2026-11-01T09:31:00.000Z" })
  })
  it("that cannot be read says why until it can", () => {
    const failed = reduce(live, Update.TimelineFailed({ call: 1, message: "the server answered 500" }), 2)
    expect(callOf(failed).unread).toBe("the server answered 500")
    expect(callOf(reduce(failed, read("call_1"), 3)).unread).toBeNull()
  })
  it("gets the deliveries that are read later, without queries of URLs", () => {
    const delivery = {
      id: 1,
      event: "call.ended",
      event_id: Schema.decodeSync(EventId)(`whe_${"e".repeat(24)}`),
      url: "https://example.com/hook?token=secret",
      attempt: 2,
      status_code: 500,
      success: false,
      error: "status 500",
      created_at: "2026-11-01T09:30:07.500Z"
    }
    const ended = reduce(reduce(live, read("call_1"), 2), Action.HungUp(), 3)
    const state = reduce(ended, Update.DeliveriesRead({ call: 1, deliveries: [delivery] }), 4)
    expect(callOf(state).timeline?.webhooks).toMatchObject([
      { event: "call.ended", url: "https://example.com/hook", attempt: 2, at: 7500, success: false }
    ])
  })
})

describe("the key", () => {
  it("that is refused is a problem until the numbers are listed", () => {
    const refused = play([0, Update.ApiFailed({ kind: "refused", message: "no key is given" })])
    expect(refused.key_problem).toBe("no key is given")
    expect(reduce(refused, Update.NumbersListed({ numbers: [], agents: [] }), 1).key_problem).toBeNull()
    expect(play([0, Update.ApiFailed({ kind: "failed", message: "500" })]).key_problem).toBeNull()
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
  const failed = read("call_1", { failure, warnings: warnings.map((warning) => ({ ...warning, at: 1500 })) })
  const link = Update.LinkRead({ call: 1, url: "http://127.0.0.1:1/debug/calls/x" })

  it("is noted once, in one line with cause and hint, with the debug page", () => {
    const state = play([0, dialled], [0, answered], [1, failed], [2, failed], [3, link], [4, link])
    expect(state.log.map(({ text }) => text).slice(-3)).toEqual([
      "warning, tool.call: book: no answer",
      "failed, call.started: POST http://127.0.0.1:9/agent answered 404 with text/html in 12 ms. Set the agent's server_url.",
      "debug page: http://127.0.0.1:1/debug/calls/x"
    ])
  })

  it("is in the report and in the document of --json", () => {
    const { call } = play([0, dialled], [0, answered], [1, failed], [3, link])
    if (call === null || call.record === null) throw new Error("there is a call with its record")
    const report = recordRows(call.record, call.debug_url).join("\n")
    expect(report).toContain("404 with text/html in 12 ms. Set the agent's server_url.")
    expect(report).toContain("1.5 s  tool.call: book: no answer")
    expect(report).toContain("http://127.0.0.1:1/debug/calls/x")
    const outcome = { exit_code: 1, error: "x", step: 1 }
    const ran = { file: null, name: undefined, result: "failed", steps: 1, duration_ms: 1, output: [] } as const
    const json: unknown = JSON.parse(document({ ...ran, outcome, call }))
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
    read("call_1")
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
