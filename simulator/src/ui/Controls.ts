import { Data } from "effect"
import { inCall, type PhoneState } from "../PhoneState.ts"

/** The typed text and the selection. */
export interface Controls {
  /** The typed number to dial. */
  readonly number: string
  /** The typed text to say. */
  readonly speech: string
  /** Whether keys are sent as DTMF during a call. */
  readonly keypad: boolean
  /** The index of the selected number. */
  readonly selected: number
  /** The number of rows that the transcript is scrolled back. */
  readonly scroll: number
  /** The digit that the dial pad highlights: the last one that was pressed. */
  readonly highlighted: string
}

export const initial: Controls = { number: "", speech: "", keypad: false, selected: 0, scroll: 0, highlighted: "" }

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

/** The number that Enter dials: the typed one, or the selected one. */
export const target = (controls: Controls, state: PhoneState): string | null => {
  if (controls.number !== "") return controls.number.startsWith("+") ? controls.number : `+${controls.number}`
  return state.numbers[controls.selected]?.number ?? null
}

const dialable = /^\+[1-9][0-9]{6,14}$/

/** Handles a key. `Footer` describes the keys. Pasted text comes as one input of several characters. */
export const press = (controls: Controls, state: PhoneState, input: string, key: Key): Pressed => {
  const result = (change: Partial<Controls>, command: Command | null = null): Pressed => ({
    controls: { ...controls, highlighted: "", ...change },
    command
  })
  if (key.ctrl && input === "c") return result({}, Command.Quit())
  if (key.pageUp) return result({ scroll: controls.scroll + page })
  if (key.pageDown) return result({ scroll: Math.max(0, controls.scroll - page) })
  return inCall(state) ? onCall(controls, state, result, input, key) : onIdle(controls, state, result, input, key)
}

type Result = (change: Partial<Controls>, command?: Command | null) => Pressed

const onCall = (controls: Controls, state: PhoneState, result: Result, input: string, key: Key): Pressed => {
  if (key.escape || (key.ctrl && input === "h")) return result({ speech: "", keypad: false }, Command.HangUp())
  if (key.tab || (key.ctrl && input === "d")) return result({ keypad: !controls.keypad })
  // Text that is typed before the answer is kept until then.
  const answered = state.call?.phase === "live"
  if (controls.keypad) {
    const digits = input.replace(/[^0-9*#]/g, "")
    return digits === "" || key.ctrl || !answered
      ? result({})
      : result({ highlighted: digits.slice(-1) }, Command.Dtmf({ digits }))
  }
  if (key.return) {
    const text = controls.speech.trim()
    return text === "" || !answered ? result({}) : result({ speech: "", scroll: 0 }, Command.Say({ text }))
  }
  if (key.backspace || key.delete) return result({ speech: [...controls.speech].slice(0, -1).join("") })
  if (key.ctrl && input === "u") return result({ speech: "" })
  if (key.ctrl || key.meta || key.upArrow || key.downArrow) return result({})
  return result({ speech: controls.speech + input.replace(/[\p{Cc}]/gu, " ") })
}

const onIdle = (controls: Controls, state: PhoneState, result: Result, input: string, key: Key): Pressed => {
  if (key.return) {
    const to = target(controls, state)
    return to === null || !dialable.test(to) || state.connection.status !== "connected"
      ? result({})
      : result({ number: "", speech: "", keypad: false, scroll: 0 }, Command.Dial({ to }))
  }
  const last = Math.max(0, state.numbers.length - 1)
  if (key.upArrow) return result({ selected: Math.max(0, Math.min(last, controls.selected) - 1), number: "" })
  if (key.downArrow) return result({ selected: Math.min(last, controls.selected + 1), number: "" })
  if (key.escape) return result({ number: "" })
  if (key.backspace || key.delete) return result({ number: controls.number.slice(0, -1) })
  if (key.meta || key.tab) return result({})
  if (key.ctrl) return input === "u" ? result({ number: "" }) : result({})
  if (input === "q") return result({}, Command.Quit())
  if (input === "r") {
    return state.call === null || state.connection.status !== "connected"
      ? result({})
      : result({ scroll: 0 }, Command.Dial({ to: state.call.to }))
  }
  if (input === "l") return result({}, Command.Refresh())
  const digits = input.replace(/[^0-9+]/g, "")
  return digits === ""
    ? result({})
    : result({ number: (controls.number + digits).slice(0, 16), highlighted: digits.slice(-1) })
}
