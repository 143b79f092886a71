import { command, type Draft, patch, startTimer, stopTimer } from "../Draft.ts"

/**
 * `press_keys`: the agent presses keys, as for a menu at the other end. `w` waits for half a second. The tool is pending
 * until the last tone is over, so that the agent does not speak over it.
 */

const timer = "keys"

/** A tone and the pause after it, as RFC 4733 senders and carriers space them. */
export const keyMs = 200
/** The wait for a `w`. */
export const waitMs = 500

/** The keys in the arguments of the model, or an error for the model. */
export const keysOf = ({ digits }: { readonly [name: string]: unknown }): { readonly keys: string } | string =>
  typeof digits === "string" && /^[0-9*#w]{1,32}$/i.test(digits)
    ? { keys: digits.toLowerCase() }
    : "digits must be 1 to 32 of 0-9, *, # and w (wait for half a second)."

export const isPressing = (d: Draft): boolean => d.state.keys !== null

/** Presses the keys of a tool call. */
export const begin = (d: Draft, tool: string, keys: string): void => {
  patch(d, { keys: { tool, rest: keys } })
  pressNext(d)
}

/** Presses the keys up to the next wait, and waits. */
const pressNext = (d: Draft): void => {
  const { keys } = d.state
  if (keys === null) return
  const digits = /^[^w]*/.exec(keys.rest)?.[0] ?? ""
  const waits = /^w*/.exec(keys.rest.slice(digits.length))?.[0].length ?? 0
  if (digits !== "") command(d, { _tag: "PressKeys", id: keys.tool, digits })
  patch(d, { keys: { ...keys, rest: keys.rest.slice(digits.length + waits) } })
  startTimer(d, timer, digits.length * keyMs + waits * waitMs)
}

/** A wait is over. Returns the tool call whose keys have all been pressed, or null. */
export const onTimer = (d: Draft): string | null => {
  const { keys } = d.state
  if (keys === null) return null
  if (keys.rest !== "") {
    pressNext(d)
    return null
  }
  patch(d, { keys: null })
  return keys.tool
}

/** The tool call has ended: no further key is pressed. */
export const cancel = (d: Draft, tool: string): void => {
  if (d.state.keys?.tool !== tool) return
  stopTimer(d, timer)
  patch(d, { keys: null })
}
