import { Data } from "effect"
import { inCall, type PhoneState } from "../PhoneState.ts"

/** What the person has typed and chosen; the keyboard's side of the screen. */
export interface Controls {
  /** Digits typed to dial. */
  readonly number: string
  /** Words typed to say. */
  readonly speech: string
  /** In a call: keys go out as DTMF. */
  readonly keypad: boolean
  /** Index in the list of numbers. */
  readonly selected: number
  /** Rows that the transcript is scrolled back from its end. */
  readonly scroll: number
  /** The key pressed last, for the dial pad. */
  readonly lit: string
}

export const initial: Controls = { number: "", speech: "", keypad: false, selected: 0, scroll: 0, lit: "" }

/** What a key asks the phone to do. */
export type Command = Data.TaggedEnum<{
  Dial: { readonly to: string }
  Say: { readonly text: string }
  Dtmf: { readonly digits: string }
  HangUp: {}
  Refresh: {}
  Quit: {}
}>
export const Command = Data.taggedEnum<Command>()

/** The part of Ink's key that matters here. */
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

/** The number that Enter dials: the typed one, or the chosen one of the list. */
export const target = (controls: Controls, state: PhoneState): string | null => {
  if (controls.number !== "") return controls.number.startsWith("+") ? controls.number : `+${controls.number}`
  return state.numbers[controls.selected]?.number ?? null
}

const dialable = /^\+[1-9][0-9]{6,14}$/

/** Which key does what; `docs` for the footer are in `Footer`. Pasted text comes as one input of several characters. */
export const press = (controls: Controls, state: PhoneState, input: string, key: Key): Pressed => {
  const stay = (change: Partial<Controls>, command: Command | null = null): Pressed => ({
    controls: { ...controls, lit: "", ...change },
    command
  })
  if (key.ctrl && input === "c") return stay({}, Command.Quit())
  if (key.pageUp) return stay({ scroll: controls.scroll + page })
  if (key.pageDown) return stay({ scroll: Math.max(0, controls.scroll - page) })
  return inCall(state) ? onCall(controls, state, stay, input, key) : atRest(controls, state, stay, input, key)
}

type Stay = (change: Partial<Controls>, command?: Command | null) => Pressed

const onCall = (controls: Controls, state: PhoneState, stay: Stay, input: string, key: Key): Pressed => {
  if (key.escape || (key.ctrl && input === "h")) return stay({ speech: "", keypad: false }, Command.HangUp())
  if (key.tab || (key.ctrl && input === "d")) return stay({ keypad: !controls.keypad })
  // Before the answer nobody listens; what is typed stays until then.
  const answered = state.call?.phase === "live"
  if (controls.keypad) {
    const digits = input.replace(/[^0-9*#]/g, "")
    return digits === "" || key.ctrl || !answered ? stay({}) : stay({ lit: digits.slice(-1) }, Command.Dtmf({ digits }))
  }
  if (key.return) {
    const text = controls.speech.trim()
    return text === "" || !answered ? stay({}) : stay({ speech: "", scroll: 0 }, Command.Say({ text }))
  }
  if (key.backspace || key.delete) return stay({ speech: [...controls.speech].slice(0, -1).join("") })
  if (key.ctrl && input === "u") return stay({ speech: "" })
  if (key.ctrl || key.meta || key.upArrow || key.downArrow) return stay({})
  return stay({ speech: controls.speech + input.replace(/[\p{Cc}]/gu, " ") })
}

const atRest = (controls: Controls, state: PhoneState, stay: Stay, input: string, key: Key): Pressed => {
  if (key.return) {
    const to = target(controls, state)
    return to === null || !dialable.test(to) || state.connection.status !== "connected"
      ? stay({})
      : stay({ number: "", speech: "", keypad: false, scroll: 0 }, Command.Dial({ to }))
  }
  const last = Math.max(0, state.numbers.length - 1)
  if (key.upArrow) return stay({ selected: Math.max(0, Math.min(last, controls.selected) - 1), number: "" })
  if (key.downArrow) return stay({ selected: Math.min(last, controls.selected + 1), number: "" })
  if (key.escape) return stay({ number: "" })
  if (key.backspace || key.delete) return stay({ number: controls.number.slice(0, -1) })
  if (key.meta || key.tab) return stay({})
  if (key.ctrl) return input === "u" ? stay({ number: "" }) : stay({})
  if (input === "q") return stay({}, Command.Quit())
  if (input === "r") {
    return state.call === null || state.connection.status !== "connected"
      ? stay({})
      : stay({ scroll: 0 }, Command.Dial({ to: state.call.to }))
  }
  if (input === "l") return stay({}, Command.Refresh())
  const digits = input.replace(/[^0-9+]/g, "")
  return digits === "" ? stay({}) : stay({ number: (controls.number + digits).slice(0, 16), lit: digits.slice(-1) })
}
