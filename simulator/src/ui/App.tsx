import { useApp, useInput, useStdout } from "ink"
import { useEffect, useRef, useState, useSyncExternalStore } from "react"
import type { PhoneState } from "../PhoneState.ts"
import { type Command, type Controls, initial, type Key, press } from "./Controls.ts"
import { Screen } from "./Screen.tsx"

/** The state of the phone, as React reads it. */
export interface Store {
  readonly get: () => PhoneState
  /** Calls back at each change; returns how to stop that. */
  readonly subscribe: (changed: () => void) => () => void
}

/** The terminal's size, as it changes. 80×24 where it is not known. */
const useTerminalSize = (): { readonly columns: number; readonly rows: number } => {
  const { stdout } = useStdout()
  const read = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
  const [size, setSize] = useState(read)
  useEffect(() => {
    const resized = () => setSize({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
    stdout.on("resize", resized)
    return () => {
      stdout.off("resize", resized)
    }
  }, [stdout])
  return size
}

/** The key that a control character in a chunk of text stands for. */
const keyOf = (part: string): Key =>
  /^[\r\n]/.test(part)
    ? { return: true }
    : part === "\t"
      ? { tab: true }
      : part === "\b" || part === "\u007f"
        ? { backspace: true }
        : {}

/** Joins keyboard, state and screen. `act` carries out what keys ask for; `Quit` also ends the app. */
export const App = (props: {
  readonly store: Store
  readonly act: (command: Command) => void
  readonly url: string
  readonly hint?: string
}) => {
  const { act, store } = props
  const state = useSyncExternalStore(store.subscribe, store.get)
  const size = useTerminalSize()
  const { exit } = useApp()
  const [controls, setControls] = useState<Controls>(initial)
  // Several keys may come before React renders again; each must see what the one before it did.
  const latest = useRef(controls)

  const handle = (input: string, key: Key) => {
    const pressed = press(latest.current, store.get(), input, key)
    latest.current = pressed.controls
    setControls(pressed.controls)
    if (pressed.command === null) return
    act(pressed.command)
    if (pressed.command._tag === "Quit") exit()
  }

  useInput((input, key) => {
    // Keys that come faster than they are read, or a paste, are one chunk; a key that Ink knows is always alone.
    if (input.length > 1 && !key.ctrl && !key.meta) {
      for (const [part] of input.matchAll(/\r\n|[\r\n\t\b\u007f]|[^\r\n\t\b\u007f]+/g)) handle(part, keyOf(part))
    } else handle(input, input === "\n" ? { return: true } : key)
  })

  return (
    <Screen
      state={state}
      controls={controls}
      url={props.url}
      {...(props.hint === undefined ? {} : { hint: props.hint })}
      columns={size.columns}
      rows={size.rows}
    />
  )
}
