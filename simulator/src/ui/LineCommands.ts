import { summaryLines } from "../CallSummary.ts"
import { isGathering } from "../CallView.ts"
import { callsOf, inCall, type PhoneState } from "../PhoneState.ts"
import { Command, choices, initialWith, isDigits, target } from "./Controls.ts"

/** What a typed line leads to: a command, and lines to print. */
export interface Answer {
  readonly command: Command | null
  readonly lines: ReadonlyArray<string>
}

const help = [
  "Before a call: a number dials it, an empty line the selected number (the first one, or that of --to).",
  "During a call: a line is what the caller says; while the agent waits for digits, digits go to the keypad.",
  "  /keys <digits>   sends digits of 0-9 * # by the keypad",
  "  /hangup          ends the call",
  "  /numbers         lists the numbers",
  "  /calls           lists the calls of this phone with their summaries",
  "  /help            prints this",
  "  /quit            hangs up and ends the program"
]

const dialable = /^\+?[1-9][0-9]{6,14}$/

const say = (...lines: ReadonlyArray<string>): Answer => ({ command: null, lines })
const run = (command: Command): Answer => ({ command, lines: [] })

/** The numbers with their agents, the one that an empty line dials first. */
export const numberLines = (
  state: PhoneState,
  to: string | null,
  notes: ReadonlyMap<string, string>
): ReadonlyArray<string> => {
  const controls = initialWith(to)
  if (state.key_problem !== null) return [state.key_problem]
  return choices(controls, state).map(({ agent, number }) =>
    [
      number === target(controls, state) ? `* ${number}` : `  ${number}`,
      agent ?? "no agent",
      ...(notes.has(number) ? [notes.get(number)] : [])
    ].join("  ")
  )
}

/** Reads a line that was typed where there is no screen. `to`: the number of `--to`. */
export const answerLine = (
  line: string,
  state: PhoneState,
  to: string | null,
  notes: ReadonlyMap<string, string>
): Answer => {
  const text = line.trim()
  const [name = "", ...rest] = text.split(/\s+/)
  if (text.startsWith("/")) {
    switch (name) {
      case "/help":
        return say(...help)
      case "/quit":
        return run(Command.Quit())
      case "/numbers":
        return say(...numberLines(state, to, notes))
      case "/calls":
        return say(...callsOf(state).flatMap(summaryLines))
      case "/hangup":
        return inCall(state) ? run(Command.HangUp()) : say("there is no call to hang up")
      case "/keys": {
        const digits = rest.join("")
        if (!isDigits(digits)) return say("/keys needs digits of 0-9 * #, such as /keys 12#")
        return state.call?.phase === "live" ? run(Command.Dtmf({ digits })) : say("the call is not answered yet")
      }
      default:
        return say(`there is no command ${name}; /help lists them`)
    }
  }
  if (inCall(state) && state.call !== null) {
    if (text === "") return say()
    if (state.call.phase !== "live") return say("the call is not answered yet: nothing was said")
    if (isDigits(text) && isGathering(state.call)) return run(Command.Dtmf({ digits: text }))
    return isDigits(text)
      ? { command: Command.Say({ text }), lines: [`said; /keys ${text} sends it by the keypad`] }
      : run(Command.Say({ text }))
  }
  const number = text === "" ? target(initialWith(to), state) : text
  if (number === null) return say("type a number first: + and 7 to 15 digits, such as +15550100100")
  if (!dialable.test(number)) return say(`${number} is not a phone number: + and 7 to 15 digits, such as +15550100100`)
  if (state.connection.status !== "connected") return say("the server is away: no call is possible")
  return run(Command.Dial({ to: number.startsWith("+") ? number : `+${number}` }))
}
