import { describe, expect, it } from "vitest"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, initial as noCall, type PhoneState, reduce, Update } from "../src/PhoneState.ts"
import { Command, type Controls, initial, type Key, press } from "../src/ui/Controls.ts"
import { phoneNumber } from "./Records.ts"

const idle = [
  PhoneEvent.Connected(),
  Update.NumbersListed({ numbers: [phoneNumber("+15550100100"), phoneNumber("+15550100101")], agents: [] })
].reduce((state, input) => reduce(state, input, 0), noCall(0))
const dialling = reduce(idle, Action.Dialled({ to: "+15550100100", from: "+15550100200" }), 0)
const live = reduce(dialling, PhoneEvent.Received({ message: { event: "answered", call_id: "call_1" } }), 0)
const after = reduce(live, Action.HungUp(), 0)
const disconnected = reduce(after, PhoneEvent.Disconnected({ reason: "gone", retry_ms: 1 }), 0)

type Typed = string | readonly [string, Key]
/** Types keys and returns the controls and the commands. */
const type = (state: PhoneState, keys: ReadonlyArray<Typed>, from: Controls = initial) => {
  const commands: Array<Command> = []
  const controls = keys.reduce((before, typed) => {
    const [input, key] = typeof typed === "string" ? [typed, {}] : typed
    const pressed = press(before, state, input, key)
    if (pressed.command !== null) commands.push(pressed.command)
    return pressed.controls
  }, from)
  return { controls, commands }
}
const enter: Typed = ["", { return: true }]
const escapeKey: Typed = ["", { escape: true }]
const tab: Typed = ["", { tab: true }]
const back: Typed = ["", { backspace: true }]
const down: Typed = ["", { downArrow: true }]
const up: Typed = ["", { upArrow: true }]
const ctrl = (letter: string): Typed => [letter, { ctrl: true }]

const cases: ReadonlyArray<readonly [string, PhoneState, ReadonlyArray<Typed>, ReadonlyArray<Command>]> = [
  ["Enter dials the selected number", idle, [enter], [Command.Dial({ to: "+15550100100" })]],
  [
    "arrow keys change the selection and stop at the ends",
    idle,
    [up, down, down, down, enter],
    [Command.Dial({ to: "+15550100101" })]
  ],
  [
    "typed digits are dialled with a leading plus",
    idle,
    ["1", "5", "550100", "999", enter],
    [Command.Dial({ to: "+15550100999" })]
  ],
  ["a plus may be typed", idle, ["+", "15550100999", enter], [Command.Dial({ to: "+15550100999" })]],
  ["a number that is too short is not dialled", idle, ["12", enter], []],
  ["Backspace deletes digits", idle, ["15550100999", back, "8", enter], [Command.Dial({ to: "+15550100998" })]],
  ["nothing is dialled while the phone is disconnected", disconnected, [enter, "r"], []],
  ["r redials the last number", after, ["r"], [Command.Dial({ to: "+15550100100" })]],
  ["r does nothing before the first call", idle, ["r"], []],
  ["q quits", idle, ["q"], [Command.Quit()]],
  ["Ctrl-C quits", idle, [ctrl("c")], [Command.Quit()]],
  ["Ctrl-C quits in a call", live, [ctrl("c")], [Command.Quit()]],
  ["q and r are letters in a call", live, ["q", "r", enter], [Command.Say({ text: "qr" })]],
  ["Enter says what was typed", live, ["Hello ", "there ", enter], [Command.Say({ text: "Hello there" })]],
  ["Enter says nothing when nothing was typed", live, [" ", enter], []],
  ["Backspace deletes a whole grapheme", live, ["no👍", back, enter], [Command.Say({ text: "no" })]],
  ["Enter says nothing before the answer and keeps the text", dialling, ["Hi", enter], []],
  [
    "Tab sends keys as tones",
    live,
    [tab, "1", "x", "#"],
    [Command.Dtmf({ digits: "1" }), Command.Dtmf({ digits: "#" })]
  ],
  ["Ctrl-D sends keys as tones", live, [ctrl("d"), "5"], [Command.Dtmf({ digits: "5" })]],
  ["a second Tab types keys as text", live, [tab, tab, "1", enter], [Command.Say({ text: "1" })]],
  ["Escape hangs up", live, [escapeKey], [Command.HangUp()]],
  ["Ctrl-H hangs up", live, [ctrl("h")], [Command.HangUp()]],
  ["Escape hangs up while it rings", dialling, [escapeKey], [Command.HangUp()]],
  ["l refreshes the list", idle, ["l"], [Command.Refresh()]]
]

describe("keys", () => {
  it.each(cases)("%s", (_, state, keys, commands) => {
    expect(type(state, keys).commands).toEqual(commands)
  })
  it("page keys scroll, and Enter returns to the end", () => {
    const { controls } = type(live, [
      ["", { pageUp: true }],
      ["", { pageUp: true }]
    ])
    expect(controls.scroll).toBe(10)
    expect(type(live, ["Hi", enter], controls).controls.scroll).toBe(0)
  })
})
