import { useApp, useInput, useStdout } from "ink"
import { useEffect, useRef, useState, useSyncExternalStore } from "react"
import type { PhoneState } from "../PhoneState.ts"
import { type Command, type Controls, initialWith, type Key, press } from "./Controls.ts"
import { Screen } from "./Screen.tsx"

/** The state of the phone for React. */
export interface Store {
  readonly get: () => PhoneState
  /** Calls `changed` at each change. Returns a function that unsubscribes. */
  readonly subscribe: (changed: () => void) => () => void
}

/** The current size of the terminal; 80×24 when it is unknown. */
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

/** The key for a control character in a chunk of text. */
const keyOf = (part: string): Key =>
  /^[\r\n]/.test(part)
    ? { return: true }
    : part === "\t"
      ? { tab: true }
      : part === "\b" || part === "\u007f"
        ? { backspace: true }
        : {}

/** Connects keyboard, state and screen. `act` performs the commands of keys; `Quit` also ends the app. */
export const App = (props: {
  readonly store: Store
  readonly act: (command: Command) => void
  readonly url: string
  /** The number that is selected at first. */
  readonly to?: string | null
  readonly hint?: string
  readonly notes?: ReadonlyMap<string, string>
}) => {
  const { act, store } = props
  const state = useSyncExternalStore(store.subscribe, store.get)
  const size = useTerminalSize()
  const { exit } = useApp()
  const [controls, setControls] = useState<Controls>(() => initialWith(props.to ?? null))
  // Several keys may come before React renders again; each must see the effect of the previous one.
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
    // Fast typing and pasted text arrive as one chunk; a key that Ink recognizes always arrives alone.
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
      {...(props.notes === undefined ? {} : { notes: props.notes })}
      columns={size.columns}
      rows={size.rows}
    />
  )
}
