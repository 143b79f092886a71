import { gatherBegins } from "@svc/api/calls/CallTimeline"
import { describe, expect, it } from "vitest"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { initial as noCall, type PhoneState } from "../src/PhoneState.ts"
import { Command, type Controls, choices, initial, initialWith, type Key, press } from "../src/ui/Controls.ts"
import { phoneNumber, timelineOf } from "./Records.ts"

const idle = [
  PhoneEvent.Connected(),
  Update.NumbersListed({ numbers: [phoneNumber("+15550100100"), phoneNumber("+15550100101")], agents: [] })
].reduce((state, input) => reduce(state, input, 0), noCall(0))
const dialling = reduce(idle, Action.Dialled({ to: "+15550100100", from: "+15550100200" }), 0)
const live = reduce(dialling, PhoneEvent.Received({ message: { event: "answered", call_id: "call_1" } }), 0)
const after = reduce(live, Action.HungUp(), 0)
const disconnected = reduce(after, PhoneEvent.Disconnected({ reason: "gone", retry_ms: 1 }), 0)

const gathering = reduce(
  live,
  Update.TimelineRead({
    call: 1,
    timeline: timelineOf("call_1", { events: [{ at: 1, actor: "server", what: gatherBegins.menu, data: null }] })
  }),
  0
)

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
  ["l refreshes the list", idle, ["l"], [Command.Refresh()]],
  [
    "digits go to the keypad while the agent waits for them",
    gathering,
    ["1", "#"],
    [Command.Dtmf({ digits: "1" }), Command.Dtmf({ digits: "#" })]
  ],
  [
    "words are said while the agent waits for digits",
    gathering,
    ["route 66", enter],
    [Command.Say({ text: "route 66" })]
  ],
  ["Tab sends digits that were typed as text", live, ["4711", tab], [Command.Dtmf({ digits: "4711" })]],
  ["a question mark within a text is said", live, ["Why", "?", enter], [Command.Say({ text: "Why?" })]],
  ["Escape closes the help and does not hang up", live, ["?", escapeKey], []],
  ["no key but Ctrl-C does anything while the help is open", idle, ["?", "r", "l", ctrl("c")], [Command.Quit()]],
  ["Enter in the list of calls dials nothing", after, [tab, enter], []]
]

describe("keys", () => {
  it.each(cases)("%s", (_, state, keys, commands) => {
    expect(type(state, keys).commands).toEqual(commands)
  })
  it.each<readonly [string, PhoneState, ReadonlyArray<Typed>, string]>([
    ["a letter before a call", idle, ["x"], '"x" is no key here: type a number, or ? for all keys'],
    [
      "a number that is too short",
      idle,
      ["12", enter],
      "+12 is not a phone number: + and 7 to 15 digits, such as +15550100100"
    ],
    ["a number that is too long", idle, ["15550100100", "123456"], "a phone number has at most 15 digits"],
    ["a dial without a number", noCall(0), [enter], "type a number first: + and 7 to 15 digits, such as +15550100100"],
    ["a dial while the phone is disconnected", disconnected, [enter], "the server is away: no call is possible"],
    ["a redial before the first call", idle, ["r"], "there is no call to repeat yet"],
    ["a list of calls that is empty", idle, [tab], "there are no earlier calls yet"],
    ["a letter on the keypad", live, [tab, "x"], '"x" is not on the keypad; it has 0-9 * #, and Tab goes back'],
    ["a digit before the answer", dialling, [tab, "5"], "the call is not answered yet"],
    ["words before the answer", dialling, ["Hi", enter], "the call is not answered yet; the text is kept"],
    ["nothing to say", live, [enter], "type what the caller says, then press Enter"]
  ])("that do nothing say why: %s", (_, state, keys, notice) => {
    expect(type(state, keys)).toMatchObject({ controls: { notice }, commands: [] })
    expect(type(state, [...keys, ctrl("t")]).controls.notice).toBeNull()
  })

  it("Enter dials the number of --to at first, also when the project does not have it", () => {
    expect(type(idle, [enter], initialWith("+15550100101")).commands).toEqual([Command.Dial({ to: "+15550100101" })])
    const other = initialWith("+15550100777")
    expect(choices(other, idle)[0]).toEqual({ number: "+15550100777", agent: null })
    expect(type(idle, [enter], other).commands).toEqual([Command.Dial({ to: "+15550100777" })])
    expect(type(idle, [down, enter], other).commands).toEqual([Command.Dial({ to: "+15550100100" })])
  })
  it("keep the selected number when the list changes", () => {
    const { controls } = type(idle, [down])
    const numbers = ["+15550100105", "+15550100100", "+15550100101"].map((number) => phoneNumber(number))
    const more = reduce(idle, Update.NumbersListed({ numbers, agents: [] }), 0)
    expect(type(more, [enter], controls).commands).toEqual([Command.Dial({ to: "+15550100101" })])
  })
  it("Tab, arrows and Enter open an earlier call, Escape closes it, and a new call does too", () => {
    const second = reduce(
      reduce(after, Action.Dialled({ to: "+15550100101", from: "+15550100200" }), 1),
      Action.HungUp(),
      2
    )
    const { controls } = type(second, [tab, down, down, enter])
    expect(controls).toMatchObject({ list: "calls", opened: 1 })
    expect(type(second, [escapeKey], controls).controls).toMatchObject({ opened: null, list: "calls" })
    expect(type(second, [escapeKey, escapeKey], controls).controls).toMatchObject({ list: "numbers" })
    expect(type(second, ["r"], controls).controls).toMatchObject({ opened: null, list: "numbers" })
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
