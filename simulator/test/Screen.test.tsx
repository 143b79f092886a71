import { type CallTimeline, gatherBegins } from "@svc/api/calls/CallTimeline"
import { AgentId, EventId } from "@svc/api/Ids"
import { turnLatency } from "@svc/api/testing/CallFixtures"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Schema } from "effect"
import { render } from "ink-testing-library"
import { act } from "react"
import { afterEach, describe, expect, it } from "vitest"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, type Input, Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { initial, type PhoneState } from "../src/PhoneState.ts"
import { App, type Store } from "../src/ui/App.tsx"
import { type Command, initial as controls } from "../src/ui/Controls.ts"
import { Screen } from "../src/ui/Screen.tsx"
import { width, wrap } from "../src/ui/TextWrap.ts"
import { agent } from "./FakeServer.ts"
import { phoneNumber, timelineOf } from "./Records.ts"

const received = (message: ServerMessage): Input => PhoneEvent.Received({ message })
const heard = (text: string, final = true): Input => received({ event: "heard", text, final })
const connected: ReadonlyArray<Input> = [
  PhoneEvent.Connected(),
  Update.NumbersListed({ numbers: [phoneNumber("+15550100100"), phoneNumber("+15550100101", 2)], agents: [] })
]
const live: ReadonlyArray<Input> = [
  ...connected,
  Action.Dialled({ to: "+15550100100", from: "+15550100200" }),
  received({ event: "ringing" }),
  received({ event: "answered", call_id: "call_1" })
]
const stateOf = (inputs: ReadonlyArray<Input>): PhoneState =>
  inputs.reduce((state, input, n) => reduce(state, input, n), initial(0))

const show = (inputs: ReadonlyArray<Input>, columns = 80, rows = 24, typed = controls): ReadonlyArray<string> => {
  const screen = render(
    <Screen state={stateOf(inputs)} controls={typed} url="http://127.0.0.1:8787" columns={columns} rows={rows} />
  )
  const frame = screen.lastFrame() ?? ""
  screen.unmount()
  return frame.split("\n")
}
const plain = (rows: ReadonlyArray<string>): string => rows.join("\n").replace(/\u001b\[[0-9;]*m/g, "")
const flowing = (rows: ReadonlyArray<string>): string => plain(rows).replace(/[│╭╮╰╯─\s]+/g, " ")

const long =
  "This is a rather long sentence that no terminal shows in one row, with a verylongwordthatmustbebrokensomewherebecauseitfitsnowhere and an end."

/** What a tool of a hostile server returns: sequences that clear the screen, set colours and the title, and wide text. */
const hostile = "\u001b[2J\u001b]0;title\u0007\u009b31m\u202eevil 日本語 👩‍👩‍👧"
const tool = {
  id: "t1",
  name: "find_slots",
  started_at: 100,
  ended_at: 112,
  status: "completed",
  arguments: { day: "Friday" },
  result: { slots: ["9:00"] }
} as const
const request = {
  event: "tool.call",
  started_at: 7300,
  duration_ms: 45,
  status: 502,
  content_type: null,
  error: "502 with text/html",
  request: null,
  response: null
} as const
const webhook = {
  event: "call.started",
  event_id: Schema.decodeSync(EventId)(`whe_${"e".repeat(24)}`),
  url: "https://example.com/hook",
  attempt: 2,
  at: 1500,
  status_code: 500,
  success: false,
  error: null
} as const
const measured = (text: string) => ({
  index: 0,
  role: "assistant" as const,
  text,
  started_at: 0,
  ended_at: null,
  interrupted: false,
  stages: turnLatency({ endpointing_ms: 512, llm_ttfb_ms: 33, response_ms: 87 })
})
const read = (change: Partial<CallTimeline>, call: Partial<CallTimeline["call"]> = {}): Input =>
  Update.TimelineRead({ call: 1, timeline: timelineOf("call_1", change, call) })
const hostileAgent = Schema.decodeSync(AgentId)(`agent_${"a".repeat(24)}`)
const hostileNumbers = Update.NumbersListed({
  numbers: [{ ...phoneNumber("+15550100100"), agent_id: hostileAgent }],
  agents: [{ ...agent, public_id: hostileAgent, name: hostile }]
})
const everything = read({
  tools: [tool, { ...tool, id: hostile, name: hostile, arguments: { hostile }, result: hostile, status: "failed" }],
  server_requests: [request, { ...request, event: hostile, error: hostile }],
  webhooks: [webhook, { ...webhook, url: hostile, error: hostile, status_code: null }],
  turns: [measured("Hello")],
  failure: { stage: "server", reason: hostile, hint: hostile },
  warnings: [{ at: 1, what: hostile, reason: hostile }]
})

describe("the screen", () => {
  const sizes = [
    [80, 24],
    [60, 20],
    [120, 40],
    [40, 12],
    [32, 10],
    [20, 6],
    [20, 5],
    [100, 30],
    [200, 60]
  ] as const
  const scenes: ReadonlyArray<readonly [string, ReadonlyArray<Input>]> = [
    ["at the start", []],
    ["with numbers", connected],
    ["in a call", [...live, heard(long), Action.Said({ text: long }), heard("日本語のテキスト 🎉 ünïcödé", false)]],
    ["after a call", [...live, heard("Hello"), Action.HungUp()]],
    ["in a call of a hostile server", [...live, everything, heard(hostile), Action.Said({ text: hostile })]],
    [
      "after a call of a hostile server",
      [...live, everything, Action.HungUp(), Update.LinkRead({ call: 1, url: `http://x/${hostile}` })]
    ],
    [
      "with a list of calls",
      [...live, heard("Hello"), Action.HungUp(), Action.Dialled({ to: "+1555", from: "x" }), Action.HungUp()]
    ],
    [
      "with the server away",
      [...live, heard(long), PhoneEvent.Disconnected({ reason: "nothing answers at its address", retry_ms: 4000 })]
    ]
  ]
  for (const [columns, rows] of sizes) {
    it.each(scenes)(`fits ${columns}×${rows} %s`, (_, inputs) => {
      const frame = plain(show(inputs, columns, rows)).split("\n")
      expect(frame.length).toBeLessThanOrEqual(rows - 1)
      for (const line of frame) expect(width(line), line).toBeLessThanOrEqual(columns)
    })
    it.each([
      ["help", { help: true }],
      ["details", { details: true }],
      ["calls", { list: "calls" }],
      ["an open call", { list: "calls", opened: 1 }],
      ["a notice", { notice: hostile }]
    ] as const)(`fits ${columns}×${rows} with %s, without sequences of others`, (_, change) => {
      const inputs = [...live, hostileNumbers, everything, heard(hostile), Action.HungUp()]
      const colored = show(inputs, columns, rows, { ...controls, ...change })
      const frame = plain(colored).split("\n")
      expect(frame.length).toBeLessThanOrEqual(rows - 1)
      for (const line of frame) expect(width(line), line).toBeLessThanOrEqual(columns)
      // Only what the screen itself sets: colours and emphasis.
      expect(plain(frame)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    })
  }

  it("says at 80×24 why the key is refused and where to get one, without rows over each other", () => {
    const problem =
      "cannot list the phone numbers: API key is invalid (INVALID_API_KEY): set SVC_KEY to a project key, or use --key; the first start of the server prints one, and svc keys create project --org <id> --project <id> makes one"
    const frame = plain(show([PhoneEvent.Connected(), Update.ApiFailed({ kind: "refused", message: problem })])).split(
      "\n"
    )
    const transcript = frame.slice(2, 13).map((row) => row.slice(26))
    expect(flowing(transcript)).toContain(problem)
    const list = frame.slice(3, 12).map((row) => row.slice(2, 24).trimEnd())
    expect(list.slice(0, 3)).toEqual(["cannot list the phone", "numbers: API key is", "invalid"])
    expect(list[8]).toBe("svc keys create proje…")
  })

  it("lists all keys in the help at 80×24", () => {
    const text = plain(show(connected, 80, 24, { ...controls, help: true }))
    for (const key of ["Enter", "Tab, ^D", "Esc, ^H", "^T", "PgUp PgDn", "^U", "?", "^C", "r ", "l ", "q "]) {
      expect(text).toContain(`  ${key}`)
    }
    expect(text).not.toContain("more: PgDn")
  })
  it("scrolls the help where it does not fit", () => {
    expect(plain(show(connected, 40, 12, { ...controls, help: true }))).toContain("more: PgDn")
    expect(plain(show(connected, 40, 12, { ...controls, help: true, scroll: 50 }))).toContain("hang up and quit")
  })
  it("shows what there is to know about a number, also at 80 columns", () => {
    const notes = new Map([["+15550100101", "has a menu first: press 1 or 2"]])
    const screen = render(
      <Screen state={stateOf(connected)} controls={controls} url="http://x" notes={notes} columns={80} rows={24} />
    )
    const text = plain([screen.lastFrame() ?? ""])
    screen.unmount()
    const list = text.split("\n").map((row) => row.slice(2, 25).trim())
    expect(list.join(" ")).toContain("+15550100101 no agent has a menu first: press 1 or 2")
  })
  it("shows a tool with arguments, result and time between the utterances, and one that failed", () => {
    const failed = { ...tool, id: "t2", started_at: 114, ended_at: 120, status: "failed", result: "gone" } as const
    const call = [...live, Action.Said({ text: "Friday?" }), read({ tools: [tool, failed] })]
    const late = call.reduce((state, input) => reduce(state, input, state.now + 1), initial(0))
    const spoken = reduce(late, heard("Nine o'clock"), late.now + 500)
    const screen = render(<Screen state={spoken} controls={controls} url="http://x" columns={71} rows={40} />)
    const text = flowing([screen.lastFrame() ?? ""])
    screen.unmount()
    expect(text).toMatch(/You Friday\? .*Tool find_slots {"day":"Friday"} → {"slots":\["9:00"\]} 12 ms .*Nine o'clock/)
    expect(text).toMatch(/→ failed "gone"/)
  })
  it("cuts a result of a tool that is long, and does not show what a key may not see", () => {
    const long = { ...tool, result: { text: "x".repeat(16_000) } }
    const secret = { ...tool, id: "t2", arguments: null, result: null }
    const rows = show([...live, read({ tools: [long, secret] })], 71, 40)
    const text = flowing(rows)
    expect(text.match(/x/g)?.length).toBeLessThan(300)
    expect(text).toContain("x… ")
    expect(text).toContain("Tool find_slots → done")
  })
  it("shows a summary with the debug page after the call", () => {
    const url = "http://127.0.0.1:1/debug/calls/abc"
    const inputs = [...live, read({ turns: [measured("Hi")] }, { turn_count: 3, tool_call_count: 1 }), Action.HungUp()]
    const text = flowing(show([...inputs, Update.LinkRead({ call: 1, url })], 71, 40))
    expect(text).toContain("Call to +15550100100 ended after 0:00: you hung up")
    expect(text).toContain("3 turns, 1 tool call, 0 EUR")
    expect(text).toContain("answered in 87 ms (median), 87 ms at most")
    expect(text.replaceAll(" ", "")).toContain(`Debugpage:${url}`)
  })
  it("opens an earlier call with its transcript and summary", () => {
    const inputs = [
      ...live,
      heard("The first call"),
      Action.HungUp(),
      Action.Dialled({ to: "+15550100101", from: "+15550100200" }),
      received({ event: "rejected", cause: "busy" })
    ]
    const text = flowing(show(inputs, 80, 24, { ...controls, list: "calls", selectedCall: 1, opened: 1 }))
    expect(text).toContain("Earlier call to +15550100100")
    expect(text).toContain("Agent The first call")
    expect(text).toContain("Call to +15550100100 ended after 0:00: you hung up")
    expect(flowing(show(inputs))).not.toContain("The first call")
  })
  it("says that no agent has a number instead of that it is unavailable", () => {
    const dialled = Action.Dialled({ to: "+15550100999", from: "+15550100200" })
    const text = plain(show([...connected, dialled, received({ event: "rejected", cause: "unavailable" })]))
    expect(text).toContain("○ call ended: no agent has this number")
    expect(text).not.toContain("unavailable")
  })
  it("says that a call that was never answered has no details without a key, and where to find one", () => {
    const message = "no key is given: set SVC_KEY to a project key"
    const refused = Update.ApiFailed({ kind: "refused", message })
    expect(flowing(show([PhoneEvent.Connected(), refused]))).toContain("no key is given: set")
  })
  it("says why a key did nothing, in the footer or, without one, in the input line", () => {
    const notice = "there is no call to repeat yet"
    expect(plain(show(connected, 80, 24, { ...controls, notice }))).toContain(`✖ ${notice}`)
    expect(plain(show(connected, 60, 7, { ...controls, notice }))).toContain(notice)
  })
  it("says how digits that were typed reach the keypad, and where they go while the agent waits for them", () => {
    expect(plain(show(live, 80, 24, { ...controls, speech: "47" }))).toContain("Tab sends them by the keypad")
    const menu = read({ events: [{ at: 1, actor: "server", what: gatherBegins.menu, data: null }] })
    expect(plain(show([...live, menu]))).toContain("the agent waits for digits: 0-9 * # go to the keypad")
  })
  it("shows requests, webhooks and latencies beside the transcript at 200×60", () => {
    const inputs = [...live, read({ server_requests: [request], webhooks: [webhook], turns: [measured("Hi")] })]
    const text = flowing(show(inputs, 200, 60))
    expect(text).toContain("0:07.3 tool.call 502 45 ms")
    expect(text).toContain("502 with text/html")
    expect(text).toContain("0:01.5 call.started 500 attempt 2 https://example.com/hook")
    expect(text).toContain("turn final words first token sentence first audio platform answer")
    expect(text).toContain("1 512 ms 33 ms 2.0 ms 3.0 ms 1.0 ms 87 ms")
  })
  it("shows the same in the place of the transcript in a smaller terminal", () => {
    const inputs = [...live, read({ server_requests: [request], webhooks: [webhook], turns: [measured("Hi")] })]
    const text = flowing(show(inputs, 80, 24, { ...controls, details: true }))
    expect(text).toContain("0:07.3 tool.call 502 45 ms")
    expect(flowing(show(inputs, 80, 24, { ...controls, details: true, scroll: 50 }))).toContain("1 512 ms 33 ms")
    expect(text).not.toContain("Transcript")
  })
  it("says why requests and latencies are not there", () => {
    const failed = Update.TimelineFailed({ call: 1, message: "cannot read call call_1: the server answered 500" })
    expect(plain(show([...live, failed], 200, 60))).toContain("cannot read call call_1: the server answered 500")
    expect(plain(show(live, 200, 60))).toContain("not read yet")
  })

  it("shows numbers, keypad, transcript, events, input and keys at 80×24", () => {
    const text = plain(show(connected))
    for (const part of [
      "Numbers",
      "+15550100100",
      "Keypad",
      "Transcript",
      "Events",
      "Dial",
      "Enter dial",
      "● connected"
    ]) {
      expect(text).toContain(part)
    }
  })
  it("names the speaker and marks an utterance that has not ended", () => {
    const text = flowing(show([...live, Action.Said({ text: "Hello there" }), heard("Good mor", false)]))
    expect(text).toContain("You Hello there")
    expect(text).toContain("Agent Good mor▌")
  })
  it("marks an utterance that the caller interrupted as a barge-in, and logs it", () => {
    const text = flowing(show([...live, heard("We are open fr"), received({ event: "clear" })]))
    expect(text).toContain("Agent We are open fr ✂ barge-in")
    expect(text).toContain("barge-in: the agent stopped speaking")
  })
  it("marks an utterance that the end of the call cut off", () => {
    const state = stateOf([...live, heard("We are open fr", false)])
    const screen = render(
      <Screen state={reduce(state, Action.HungUp(), 99)} controls={controls} url="http://x" columns={80} rows={24} />
    )
    const text = flowing([screen.lastFrame() ?? ""])
    screen.unmount()
    expect(text).toContain("Agent We are open fr ✂ cut off")
    expect(text).not.toContain("barge-in")
  })
  it("shows the latency of an answer, with ~ until the server has measured it", () => {
    const answer: ReadonlyArray<Input> = [...live, Action.Said({ text: "Hi" })]
    const before = stateOf(answer)
    const estimated = reduce(before, heard("Yes"), before.now + 1200)
    const stages = turnLatency({ response_ms: 87.4 })
    const turn = {
      index: 0,
      role: "assistant",
      text: "Yes",
      started_at: 0,
      ended_at: null,
      interrupted: false
    } as const
    const measured = reduce(
      estimated,
      Update.TimelineRead({ call: 1, timeline: timelineOf("call_1", { turns: [{ ...turn, stages }] }) }),
      before.now + 1300
    )
    const shown = (state: PhoneState) => {
      const screen = render(<Screen state={state} controls={controls} url="http://x" columns={80} rows={24} />)
      return plain([screen.lastFrame() ?? ""])
    }
    expect(shown(estimated)).toMatch(/Agent Yes .*~720 ms/)
    expect(shown(measured)).toMatch(/Agent Yes .* 87 ms/)
  })
  it("wraps long words without losing text", () => {
    const text = flowing(show([...live, heard(long)], 70, 24)).replaceAll(" ", "")
    expect(text).toContain(long.replaceAll(" ", ""))
  })
  it("shows that the server is away, when the next attempt starts, and that it is back", () => {
    const away = [...connected, PhoneEvent.Disconnected({ reason: "nothing answers at its address", retry_ms: 4000 })]
    const text = plain(show(away))
    expect(text).toContain("✖ the server is away, retrying in 4 s")
    expect(text).toContain("nothing answers at its address; calls are possible again when it is back")
    expect(plain(show([...away, PhoneEvent.Connected()]))).toContain("● the server is back")
    expect(plain(show(away, 40, 12))).toContain("✖ server is away")
  })
  it("removes control characters from heard text", () => {
    const frame = show([...live, heard("one\u001b[2Jtwo\u0007\nthree\u009b31m")]).join("\n")
    expect(frame).not.toContain("\u001b[2J")
    expect(frame).not.toContain("\u0007")
    expect(plain([frame])).toContain("one [2Jtwo three 31m")
  })
  it("scrolls back and shows the number of rows below", () => {
    const many = Array.from({ length: 30 }, (_, n) => heard(`Sentence ${n}.`))
    expect(plain(show([...live, ...many]))).toContain("Sentence 29.")
    const back = plain(show([...live, ...many], 80, 24, { ...controls, scroll: 10 }))
    expect(back).not.toContain("Sentence 29.")
    expect(back).toContain("10 more below")
    expect(plain(show([...live, ...many], 80, 24, { ...controls, scroll: 1000 }))).toContain("Sentence 0.")
  })
})

describe("the app", () => {
  let unmount = () => {}
  afterEach(() => unmount())

  const start = (inputs: ReadonlyArray<Input>) => {
    let state = stateOf(inputs)
    const listeners = new Set<() => void>()
    const store: Store = {
      get: () => state,
      subscribe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      }
    }
    const commands: Array<Command> = []
    const screen = render(<App store={store} act={(command) => commands.push(command)} url="http://127.0.0.1:8787" />)
    unmount = screen.unmount
    return {
      screen,
      commands,
      text: () => plain([screen.lastFrame() ?? ""]),
      put: (input: Input) =>
        act(() => {
          state = reduce(state, input, state.now + 1)
          for (const listener of listeners) listener()
        })
    }
  }

  it("renders each change of the state", async () => {
    const app = start(connected)
    await app.put(Action.Dialled({ to: "+15550100100", from: "+15550100200" }))
    expect(app.text()).toContain("dialling +15550100100")
    await app.put(received({ event: "answered", call_id: "call_1" }))
    expect(app.text()).toContain("in call with +15550100100")
  })

  it("handles several keys in one chunk of input", async () => {
    const app = start(live)
    await act(() => app.screen.stdin.write("Hello theer\u007f\u007fre\rBye\r\t5"))
    expect(app.commands).toEqual([
      { _tag: "Say", text: "Hello there" },
      { _tag: "Say", text: "Bye" },
      { _tag: "Dtmf", digits: "5" }
    ])
  })

  it("adapts to the size of the terminal", async () => {
    const app = start(connected)
    expect(app.text().split("\n")[2]).toContain("Transcript")
    Object.defineProperty(app.screen.stdout, "columns", { value: 50 })
    Object.defineProperty(app.screen.stdout, "rows", { value: 16 })
    await act(() => app.screen.stdout.emit("resize"))
    const rows = app.text().split("\n")
    expect(rows.length).toBeLessThanOrEqual(15)
    for (const row of rows) expect(width(row)).toBeLessThanOrEqual(50)
  })
})

describe("wrap", () => {
  it.each([
    ["", 10, [""]],
    ["one two", 10, ["one two"]],
    ["one two", 4, ["one", "two"]],
    ["abcdefgh", 3, ["abc", "def", "gh"]],
    ["a  b\tc\n", 10, ["a b c"]],
    ["日本語", 4, ["日本", "語"]],
    ["e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]]
  ])("%j in %d columns", (text, columns, rows) => {
    expect(wrap(text, columns)).toEqual(rows)
  })
})
