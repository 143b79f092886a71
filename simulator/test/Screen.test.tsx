import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { render } from "ink-testing-library"
import { act } from "react"
import { afterEach, describe, expect, it } from "vitest"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, type Input, initial, type PhoneState, reduce, Update } from "../src/PhoneState.ts"
import { App, type Store } from "../src/ui/App.tsx"
import { type Command, initial as controls } from "../src/ui/Controls.ts"
import { Screen } from "../src/ui/Screen.tsx"
import { width, wrap } from "../src/ui/TextWrap.ts"
import { phoneNumber, record } from "./Records.ts"

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

describe("the screen", () => {
  const sizes = [
    [80, 24],
    [60, 20],
    [120, 40],
    [40, 12],
    [32, 10],
    [20, 6],
    [200, 60]
  ] as const
  const scenes: ReadonlyArray<readonly [string, ReadonlyArray<Input>]> = [
    ["at the start", []],
    ["with numbers", connected],
    ["in a call", [...live, heard(long), Action.Said({ text: long }), heard("日本語のテキスト 🎉 ünïcödé", false)]],
    ["after a call", [...live, heard("Hello"), Action.HungUp()]],
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
  }

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
  it("marks an utterance that was cut off", () => {
    const text = flowing(show([...live, heard("We are open fr"), received({ event: "clear" })]))
    expect(text).toContain("Agent We are open fr ✂ cut off")
  })
  it("shows the latency of an answer, with ~ until the server has measured it", () => {
    const answer: ReadonlyArray<Input> = [...live, Action.Said({ text: "Hi" })]
    const before = stateOf(answer)
    const estimated = reduce(before, heard("Yes"), before.now + 1200)
    const turn = {
      turn: 1,
      ts: 1,
      llm_ttfb_ms: 1,
      tts_start_ms: 1,
      tts_ttfb_ms: 1,
      response_ms: 87.4,
      endpointing_ms: 1,
      platform_ms: 1
    }
    const measured = reduce(
      estimated,
      Update.RecordRead({ call: { ...record("call_1"), latency_data: { turns: [turn] } } }),
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
