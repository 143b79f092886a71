import { gatherBegins } from "@svc/api/calls/CallTimeline"
import { describe, expect, it } from "vitest"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { initial, type PhoneState } from "../src/PhoneState.ts"
import { Command } from "../src/ui/Controls.ts"
import { answerLine, numberLines } from "../src/ui/LineCommands.ts"
import { answered, dialled, play, received } from "./PhoneInputs.ts"
import { phoneNumber, timelineOf } from "./Records.ts"

const numbers = [phoneNumber("+15550100100"), phoneNumber("+15550100101", 2)]
const idle = play([0, PhoneEvent.Connected()], [0, Update.NumbersListed({ numbers, agents: [] })])
const ringing = [dialled, received({ event: "ringing" })].reduce((state, input) => reduce(state, input, 1), idle)
const live = reduce(ringing, answered, 2)
const menu = timelineOf("call_1", { events: [{ at: 1, actor: "server", what: gatherBegins.menu, data: null }] })
const gathering = reduce(live, Update.TimelineRead({ call: 1, timeline: menu }), 3)
const ended = reduce(live, Action.HungUp(), 4)
const none: ReadonlyMap<string, string> = new Map()
const typed = (state: PhoneState, line: string, to: string | null = null) => answerLine(line, state, to, none)

describe("a line that is typed", () => {
  it.each<readonly [string, PhoneState, string, Command]>([
    ["a number dials it", idle, "+15550100101", Command.Dial({ to: "+15550100101" })],
    ["a number may have no plus", idle, "15550100101", Command.Dial({ to: "+15550100101" })],
    ["an empty line dials the first number", idle, "", Command.Dial({ to: "+15550100100" })],
    ["text is said", live, " Hello there ", Command.Say({ text: "Hello there" })],
    ["digits go to the keypad while the agent waits for them", gathering, "12#", Command.Dtmf({ digits: "12#" })],
    ["digits are said otherwise", live, "12", Command.Say({ text: "12" })],
    ["/keys sends digits", live, "/keys 1 2 #", Command.Dtmf({ digits: "12#" })],
    ["/hangup hangs up", ringing, "/hangup", Command.HangUp()],
    ["/quit quits", idle, "/quit", Command.Quit()]
  ])("%s", (_, state, line, command) => {
    expect(typed(state, line).command).toEqual(command)
  })

  it.each<readonly [string, PhoneState, string, string]>([
    ["that is no number", idle, "abc", "abc is not a phone number: + and 7 to 15 digits, such as +15550100100"],
    ["that is an unknown command", live, "/bogus", "there is no command /bogus; /help lists them"],
    ["that dials without a server", initial(0), "+15550100100", "the server is away: no call is possible"],
    [
      "that is empty without a number",
      initial(0),
      "",
      "type a number first: + and 7 to 15 digits, such as +15550100100"
    ],
    ["that sends no digits", live, "/keys x", "/keys needs digits of 0-9 * #, such as /keys 12#"],
    ["that speaks before the answer", ringing, "Hi", "the call is not answered yet: nothing was said"],
    ["that sends digits before the answer", ringing, "/keys 1", "the call is not answered yet"],
    ["that hangs up no call", idle, "/hangup", "there is no call to hang up"]
  ])("%s does nothing and says why", (_, state, line, why) => {
    expect(typed(state, line)).toEqual({ command: null, lines: [why] })
  })

  it("says how digits that were said reach the keypad", () => {
    expect(typed(live, "12").lines).toEqual(["said; /keys 12 sends it by the keypad"])
  })
  it("dials the number of --to", () => {
    expect(typed(idle, "", "+15550100777").command).toEqual(Command.Dial({ to: "+15550100777" }))
  })
  it("lists numbers, commands, and calls with their summaries", () => {
    const notes = new Map([["+15550100101", "has a menu"]])
    expect(numberLines(idle, "+15550100101", notes)).toEqual([
      "  +15550100100  no agent",
      "* +15550100101  no agent  has a menu"
    ])
    expect(typed(ended, "/calls").lines).toContain("Call to +15550000001 ended after 0:00: you hung up")
    for (const command of ["/keys", "/hangup", "/numbers", "/calls", "/quit"]) {
      expect(typed(idle, "/help").lines.join("\n")).toContain(command)
    }
  })
  it("lists instead of the numbers what to do without a key", () => {
    const refused = reduce(idle, Update.ApiFailed({ kind: "refused", message: "no key is given" }), 1)
    expect(numberLines(refused, null, none)).toEqual(["no key is given"])
  })
})
