import { Data } from "effect"
import { isGathering } from "../CallView.ts"
import { callsOf, inCall, type Listed, type PhoneState } from "../PhoneState.ts"

/** The typed text and the selection. */
export interface Controls {
  /** The typed number to dial. */
  readonly number: string
  /** The typed text to say. */
  readonly speech: string
  /** Whether keys are sent as DTMF during a call. */
  readonly keypad: boolean
  /** The number of `--to`; it is listed even if the project does not have it. */
  readonly wanted: string | null
  /** The selected number; null for the first one. */
  readonly selected: string | null
  /** The list that keys move in. */
  readonly list: "numbers" | "calls"
  /** The index of the selected call, the newest first. */
  readonly selectedCall: number
  /** The `id` of an earlier call that is open. */
  readonly opened: number | null
  /** Whether requests, webhooks and latencies are shown in the place of the transcript. */
  readonly details: boolean
  /** Whether the list of all keys is shown. */
  readonly help: boolean
  /** The number of rows that the transcript is scrolled back, or details and keys forth. */
  readonly scroll: number
  /** The digit that the dial pad highlights: the last one that was pressed. */
  readonly highlighted: string
  /** Why the last key did nothing. */
  readonly notice: string | null
}

/** `to`: the number to select. */
export const initialWith = (to: string | null): Controls => ({
  number: "",
  speech: "",
  keypad: false,
  wanted: to,
  selected: to,
  list: "numbers",
  selectedCall: 0,
  opened: null,
  details: false,
  help: false,
  scroll: 0,
  highlighted: "",
  notice: null
})

export const initial: Controls = initialWith(null)

/** A command to the phone. */
export type Command = Data.TaggedEnum<{
  Dial: { readonly to: string }
  Say: { readonly text: string }
  Dtmf: { readonly digits: string }
  HangUp: {}
  Refresh: {}
  Quit: {}
}>
export const Command = Data.taggedEnum<Command>()

/** The used part of Ink's key. */
export interface Key {
  readonly upArrow?: boolean
  readonly downArrow?: boolean
  readonly pageUp?: boolean
  readonly pageDown?: boolean
  readonly return?: boolean
  readonly escape?: boolean
  readonly ctrl?: boolean
  readonly meta?: boolean
  readonly tab?: boolean
  readonly backspace?: boolean
  readonly delete?: boolean
}

export interface Pressed {
  readonly controls: Controls
  readonly command: Command | null
}

const page = 5

/** The numbers to choose from: those of the project, and that of `--to`. */
export const choices = ({ wanted }: Pick<Controls, "wanted">, { numbers }: PhoneState): ReadonlyArray<Listed> =>
  wanted === null || numbers.some(({ number }) => number === wanted)
    ? numbers
    : [{ number: wanted, agent: null }, ...numbers]

/** The index of the selected number. */
export const selectedIndex = (controls: Controls, state: PhoneState): number =>
  Math.max(
    0,
    choices(controls, state).findIndex(({ number }) => number === controls.selected)
  )

/** The number that Enter dials: the typed one, or the selected one. */
export const target = (controls: Controls, state: PhoneState): string | null => {
  if (controls.number !== "") return controls.number.startsWith("+") ? controls.number : `+${controls.number}`
  return choices(controls, state)[selectedIndex(controls, state)]?.number ?? null
}

/** Whether a text could also be meant for the keypad. */
export const isDigits = (text: string): boolean => /^[0-9*#]+$/.test(text.trim())

const dialable = /^\+[1-9][0-9]{6,14}$/

const notAnswered = "the call is not answered yet"

type Result = (change: Partial<Controls>, command?: Command | null) => Pressed

/** Handles a key. `Help` lists the keys. Pasted text comes as one input of several characters. */
export const press = (controls: Controls, state: PhoneState, input: string, key: Key): Pressed => {
  const result: Result = (change, command = null) => ({
    controls: { ...controls, highlighted: "", notice: null, ...change },
    command
  })
  if (key.ctrl && input === "c") return result({}, Command.Quit())
  if (key.pageUp || key.pageDown) {
    // The transcript is scrolled back from its end, details and keys forth from their beginning.
    const isFurther = controls.help || controls.details ? key.pageDown : key.pageUp
    return result({ scroll: Math.max(0, controls.scroll + (isFurther ? page : -page)) })
  }
  if (controls.help) {
    const isClosing = key.escape || key.return || input === "?" || input === "q"
    return result(isClosing ? { help: false, scroll: 0 } : {})
  }
  if (key.ctrl && input === "t") return result({ details: !controls.details, scroll: 0 })
  return inCall(state) ? onCall(controls, state, result, input, key) : onIdle(controls, state, result, input, key)
}

const onCall = (controls: Controls, state: PhoneState, result: Result, input: string, key: Key): Pressed => {
  if (key.escape || (key.ctrl && input === "h")) return result({ speech: "", keypad: false }, Command.HangUp())
  // A question mark inside of a sentence is text.
  if (input === "?" && (controls.keypad || controls.speech === "")) return result({ help: true, scroll: 0 })
  // Text that is typed before the answer is kept until then.
  const answered = state.call?.phase === "live"
  if (key.tab || (key.ctrl && input === "d")) {
    return answered && !controls.keypad && isDigits(controls.speech)
      ? result({ speech: "" }, Command.Dtmf({ digits: controls.speech.trim() }))
      : result({ keypad: !controls.keypad })
  }
  const isWaitedFor = state.call !== null && isGathering(state.call) && controls.speech === "" && isDigits(input)
  if ((controls.keypad || isWaitedFor) && !key.ctrl && !key.meta) return onKeypad(result, input, answered)
  if (key.return) {
    const text = controls.speech.trim()
    if (text === "") return result({ notice: "type what the caller says, then press Enter" })
    return answered
      ? result({ speech: "", scroll: 0 }, Command.Say({ text }))
      : result({ notice: `${notAnswered}; the text is kept` })
  }
  if (key.backspace || key.delete) return result({ speech: [...controls.speech].slice(0, -1).join("") })
  if (key.ctrl && input === "u") return result({ speech: "" })
  if (key.ctrl || key.meta || key.upArrow || key.downArrow) return result({})
  return result({ speech: controls.speech + input.replace(/[\p{Cc}]/gu, " ") })
}

const onKeypad = (result: Result, input: string, answered: boolean): Pressed => {
  const digits = input.replace(/[^0-9*#]/g, "")
  if (digits === "") {
    return result(input === "" ? {} : { notice: `"${input}" is not on the keypad; it has 0-9 * #, and Tab goes back` })
  }
  return answered
    ? result({ highlighted: digits.slice(-1), scroll: 0 }, Command.Dtmf({ digits }))
    : result({ notice: notAnswered })
}

const dial = (to: string | null, state: PhoneState, result: Result): Pressed => {
  if (to === null) return result({ notice: "type a number first: + and 7 to 15 digits, such as +15550100100" })
  if (!dialable.test(to)) {
    return result({ notice: `${to} is not a phone number: + and 7 to 15 digits, such as +15550100100` })
  }
  if (state.connection.status !== "connected") return result({ notice: "the server is away: no call is possible" })
  return result(
    { number: "", speech: "", keypad: false, scroll: 0, opened: null, list: "numbers" },
    Command.Dial({ to })
  )
}

const onIdle = (controls: Controls, state: PhoneState, result: Result, input: string, key: Key): Pressed => {
  const calls = callsOf(state)
  const isInCalls = controls.list === "calls" && calls.length > 0
  if (key.return) {
    if (!isInCalls || controls.number !== "") return dial(target(controls, state), state, result)
    const call = calls[Math.min(controls.selectedCall, calls.length - 1)]
    return result({ opened: call?.id ?? null, scroll: 0 })
  }
  if (key.tab) {
    return calls.length === 0
      ? result({ notice: "there are no earlier calls yet" })
      : result({ list: isInCalls ? "numbers" : "calls", selectedCall: 0, number: "" })
  }
  if (key.upArrow || key.downArrow) {
    const step = key.upArrow ? -1 : 1
    if (isInCalls) return result({ selectedCall: within(calls.length, controls.selectedCall, step) })
    const index = within(choices(controls, state).length, selectedIndex(controls, state), step)
    return result({ selected: choices(controls, state)[index]?.number ?? null, number: "" })
  }
  if (key.escape) {
    if (controls.opened !== null) return result({ opened: null, scroll: 0 })
    return result({ number: "", list: "numbers" })
  }
  if (key.backspace || key.delete) return result({ number: controls.number.slice(0, -1) })
  if (key.meta) return result({})
  if (key.ctrl) return input === "u" ? result({ number: "" }) : result({})
  if (input === "q") return result({}, Command.Quit())
  if (input === "?") return result({ help: true, scroll: 0 })
  if (input === "r") {
    return state.call === null
      ? result({ notice: "there is no call to repeat yet" })
      : dial(state.call.to, state, result)
  }
  if (input === "l") return result({}, Command.Refresh())
  const typed = input.replace(/[^0-9+]/g, "")
  if (typed === "") {
    return result(input === "" ? {} : { notice: `"${input}" is no key here: type a number, or ? for all keys` })
  }
  const number = controls.number + typed
  return number.length > 16
    ? result({ notice: "a phone number has at most 15 digits" })
    : result({ number, list: "numbers", highlighted: typed.slice(-1) })
}

const within = (count: number, index: number, step: number): number =>
  Math.max(0, Math.min(count - 1, Math.min(count - 1, index) + step))
