import type { Call } from "@svc/api/calls/Call"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { agentSpeaks, speechMs } from "../src/Dialogue.ts"
import { PhoneEvent } from "../src/Phone.ts"
import {
  Action,
  type CallView,
  type Input,
  inCall,
  initial,
  Knowledge,
  type PhoneState,
  reduce
} from "../src/PhoneState.ts"
import { record } from "./Records.ts"

const received = (message: ServerMessage): Input => PhoneEvent.Received({ message })
const heard = (text: string, final = false): Input => received({ event: "heard", text, final })
const dialled = Action.Dialled({ to: "+15550000001", from: "+15550000002" })
const answered = received({ event: "answered", call_id: "call_1" })
const said = (text: string): Input => Action.Said({ text })
const clear = received({ event: "clear" })

/** Runs timed inputs: `[milliseconds, input]`. */
const play = (...inputs: ReadonlyArray<readonly [number, Input]>): PhoneState =>
  inputs.reduce((state, [at, input]) => reduce(state, input, at), initial(0))
const callOf = (state: PhoneState): CallView => {
  if (state.call === null) throw new Error("there is no call")
  return state.call
}
const lines = (state: PhoneState) => callOf(state).dialogue.lines
const brief = (state: PhoneState) =>
  lines(state).map((l) => `${l.who}: ${l.text}${l.cut ? " ✂" : ""}${l.final ? "" : " …"}`)
const texts = (state: PhoneState) => state.log.map((entry) => entry.text)

describe("what is heard", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<readonly [number, Input]>, ReadonlyArray<string>]> = [
    [
      "grows while it is spoken",
      [
        [1, heard("Good")],
        [2, heard("Good morning")]
      ],
      ["agent: Good morning …"]
    ],
    [
      "is complete with its last message",
      [
        [1, heard("Hi")],
        [2, heard("Hi there", true)]
      ],
      ["agent: Hi there"]
    ],
    ["needs no partial message before the last", [[1, heard("Hi", true)]], ["agent: Hi"]],
    [
      "is a line of its own for each utterance",
      [
        [1, heard("One.", true)],
        [2, heard("Two.", true)]
      ],
      ["agent: One.", "agent: Two."]
    ],
    ["is nothing when nothing was understood", [[1, heard("", true)]], []],
    [
      "keeps its words when the end brings none",
      [
        [1, heard("Hel")],
        [2, heard("", true)]
      ],
      ["agent: Hel"]
    ],
    [
      "stands around what we said in between",
      [
        [1, heard("Well")],
        [2, said("Stop")],
        [3, heard("Well then", true)]
      ],
      ["agent: Well then", "caller: Stop"]
    ],
    [
      "is cut when a clear comes after its last words",
      [
        [1, heard("We ar")],
        [2, heard("We are op", true)],
        [3, clear]
      ],
      ["agent: We are op ✂"]
    ],
    [
      "is cut when a clear comes before its last words",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("We are op", true)]
      ],
      ["agent: We are op ✂"]
    ],
    [
      "is cut when nothing follows a clear",
      [
        [1, heard("We ar")],
        [2, clear]
      ],
      ["agent: We ar ✂"]
    ],
    [
      "is not cut by a clear long after it was complete",
      [
        [1, heard("Done.", true)],
        [900, clear]
      ],
      ["agent: Done."]
    ],
    [
      "starts anew after a cut",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("Sorry?", true)]
      ],
      ["agent: We ar ✂", "agent: Sorry?"]
    ],
    [
      "starts anew after a cut that got no last words",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("So")],
        [4, heard("Sorry", true)]
      ],
      ["agent: We ar ✂", "agent: Sorry"]
    ],
    ["is nothing to a clear when nothing was said", [[1, clear]], []],
    [
      "is cut by the end of the call",
      [
        [1, heard("And furth")],
        [2, Action.HungUp()]
      ],
      ["agent: And furth ✂"]
    ],
    [
      "is nothing after the end of the call",
      [
        [1, Action.HungUp()],
        [2, heard("Hello", true)]
      ],
      []
    ]
  ]
  it.each(cases)("%s", (_, inputs, expected) => {
    expect(brief(play([0, dialled], [0, answered], ...inputs))).toEqual(expected)
  })
})

describe("the latency of an answer", () => {
  const spoken = speechMs("Hello?")
  const answer = (ms: number) =>
    play([0, dialled], [0, answered], [100, said("Hello?")], [100 + spoken + 120 + ms, heard("Yes")])

  it("is estimated from the end of our speech to the first letter of the answer", () => {
    expect(lines(answer(300))[1]?.latency).toEqual({ ms: 300, estimated: true })
  })
  it("is never below zero, however good the estimate", () => {
    expect(lines(answer(-60))[1]?.latency).toEqual({ ms: 0, estimated: true })
  })
  it("is not taken from words that the agent says while we speak", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [100, said("Hello?")],
      [150, heard("And", true)],
      [2000, heard("Yes")]
    )
    expect(lines(state).map((l) => l.latency?.estimated ?? null)).toEqual([null, null, true])
  })
  it("belongs to the first sentence of an answer alone, and never to a greeting", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [50, heard("Hi.", true)],
      [100, said("Hello?")],
      [2000, heard("A.", true)],
      [2100, heard("B.", true)]
    )
    expect(lines(state).map((l) => l.latency !== null)).toEqual([false, false, true, false])
  })
  it("counts what we said twice in a row as one speech", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [100, said("Hello?")],
      [150, said("Hello?")],
      [100 + 2 * spoken + 320, heard("Yes")]
    )
    expect(lines(state)[2]?.latency?.ms).toBe(200)
  })
  it("becomes the server's figure when the record tells it, turn by turn", () => {
    const turn = (response_ms: number | null) => ({
      turn: 1,
      ts: 1,
      llm_ttfb_ms: 1,
      tts_start_ms: 1,
      tts_ttfb_ms: 1,
      response_ms,
      endpointing_ms: 1,
      platform_ms: 1
    })
    const call: Call = { ...record("call_1"), latency_data: { turns: [turn(null), turn(12)] } }
    const state = reduce(answer(300), Knowledge.RecordRead({ call }), 5000)
    expect(lines(state)[1]?.latency).toEqual({ ms: 12, estimated: false })
  })
})

describe("a call", () => {
  it("rings, is answered and ends with its cause", () => {
    const start = play([0, dialled])
    expect(callOf(start).phase).toBe("dialling")
    const rings = reduce(start, received({ event: "ringing" }), 1)
    expect(callOf(rings).phase).toBe("ringing")
    const live = reduce(rings, answered, 2)
    expect(callOf(live)).toMatchObject({ phase: "live", call_id: "call_1", answered_at: 2 })
    const over = reduce(live, received({ event: "hangup", cause: "agent-hangup" }), 9)
    expect(callOf(over)).toMatchObject({ phase: "ended", ended_by: "them", cause: "agent-hangup", ended_at: 9 })
  })
  it("that is refused ends at once", () => {
    const state = play([0, dialled], [1, received({ event: "rejected", cause: "busy" })])
    expect(callOf(state)).toMatchObject({ phase: "ended", ended_by: "rejected", cause: "busy" })
  })
  it("is lost with the line, and the log says both", () => {
    const state = play(
      [0, PhoneEvent.Connected()],
      [0, dialled],
      [0, answered],
      [5, PhoneEvent.Away({ reason: "gone", retry_ms: 250 })]
    )
    expect(callOf(state)).toMatchObject({ phase: "ended", ended_by: "lost", cause: "gone" })
    expect(texts(state).slice(-2)).toEqual(["the server is away: gone", "the call is lost"])
  })
  it("keeps its first end", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [1, Action.HungUp()],
      [2, received({ event: "hangup", cause: "late" })]
    )
    expect(callOf(state)).toMatchObject({ ended_by: "us", ended_at: 1 })
  })
  it("takes over no record of another call", () => {
    const state = play([0, dialled], [0, answered], [1, Knowledge.RecordRead({ call: record("call_2") })])
    expect(callOf(state).record).toBeNull()
  })
  it("that never told its id takes a record only once it has ended", () => {
    const read = Knowledge.RecordRead({ call: record("call_9") })
    expect(callOf(play([0, dialled], [1, read])).record).toBeNull()
    const ended = play([0, dialled], [1, received({ event: "hangup", cause: "unavailable" })], [2, read])
    expect(callOf(ended)).toMatchObject({ call_id: "call_9" })
  })
  it("logs each tool once", () => {
    const with1 = Knowledge.RecordRead({ call: { ...record("call_1"), tools_called: ["a"] } })
    const with2 = Knowledge.RecordRead({ call: { ...record("call_1"), tools_called: ["a", "b"] } })
    const state = play([0, dialled], [0, answered], [1, with1], [2, with1], [3, with2])
    expect(texts(state).filter((t) => t.startsWith("tool"))).toEqual(["tool a", "tool b"])
  })
  it("collects the digits pressed", () => {
    expect(
      callOf(
        play([0, dialled], [0, answered], [1, Action.Pressed({ digits: "1" })], [2, Action.Pressed({ digits: "#" })])
      ).digits
    ).toBe("1#")
  })
})

describe("the server", () => {
  const away = PhoneEvent.Away({ reason: "nothing answers", retry_ms: 500 })
  it("is reported away once, however often the phone tries, and back when it is", () => {
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
  it("stays away on the screen while the phone tries again", () => {
    expect(play([0, away], [1, PhoneEvent.Connecting({ attempt: 2 })]).connection).toMatchObject({
      status: "away",
      retry_at: 500
    })
  })
  it("that talks nonsense is counted and reported", () => {
    const state = play([0, PhoneEvent.Garbled({ raw: "?", reason: "not a message of the network" })])
    expect(state.garbled).toBe(1)
    expect(texts(state)).toEqual(["unreadable message, not a message of the network"])
  })
})

const anyInput: fc.Arbitrary<Input> = fc.oneof(
  fc.constantFrom<Input>(
    dialled,
    answered,
    clear,
    Action.HungUp(),
    PhoneEvent.Connected(),
    Knowledge.Ticked(),
    PhoneEvent.Away({ reason: "gone", retry_ms: 100 }),
    received({ event: "ringing" }),
    received({ event: "hangup", cause: "normal" }),
    received({ event: "rejected", cause: "busy" }),
    Knowledge.RecordRead({ call: record("call_1") })
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

  it("leaves at most one utterance open, and none after the call", () => {
    fc.assert(
      fc.property(steps, (all) =>
        run(all, (state) => {
          const open = state.call?.dialogue.lines.filter((line) => !line.final) ?? []
          expect(open.length).toBeLessThanOrEqual(inCall(state) ? 1 : 0)
          if (state.call !== null && !inCall(state)) expect(agentSpeaks(state.call.dialogue)).toBe(false)
        })
      )
    )
  })
  it("never takes words or lines back, and numbers lines by their place", () => {
    fc.assert(
      fc.property(steps, (all) =>
        run(all, (state, before) => {
          const now = state.call?.dialogue.lines ?? []
          expect(now.map((line) => line.id)).toEqual(now.map((_, n) => n))
          const sameCall = before.call?.dialled_at === state.call?.dialled_at && before.call?.to === state.call?.to
          if (sameCall && (before.call?.dialogue.lines.length ?? 0) > now.length)
            expect(state.call?.dialogue.lines).toEqual([])
        })
      )
    )
  })
  it("keeps the log short and its ids rising", () => {
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

describe("a call from an agent", () => {
  const incoming = received({ event: "incoming", call_ref: "r", from: "+15550000001", to: "+15550000002" })

  it("rings, and is a call like one that we made", () => {
    const ringing = play([1, Action.Awaited({ from: "+15550000001" })], [2, incoming])
    expect(callOf(ringing)).toMatchObject({ phase: "ringing", from: "+15550000001", to: "+15550000002" })
    const live = [answered, heard("Hello", true)].reduce((state, input) => reduce(state, input, 3), ringing)
    expect(callOf(live)).toMatchObject({ phase: "live", call_id: "call_1" })
    expect(brief(live)).toEqual(["agent: Hello"])
    expect(texts(live)).toContain("incoming call from +15550000001")
  })

  it("that comes while we talk is only noted", () => {
    const state = play([1, dialled], [2, answered], [3, incoming])
    expect(callOf(state)).toMatchObject({ phase: "live", call_id: "call_1", to: "+15550000001" })
  })

  it("or by us, when it is transferred, tells where to", () => {
    const state = play(
      [1, dialled],
      [2, answered],
      [3, received({ event: "transferred", destination: "+15550000009" })]
    )
    expect(callOf(state)).toMatchObject({ phase: "live", transferred_to: "+15550000009" })
  })
})
