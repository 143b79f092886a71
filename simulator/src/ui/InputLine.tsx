import { Box, Text } from "ink"
import { Frame } from "./Frame.tsx"
import { crop, cropStart, width } from "./TextWrap.ts"

/** The current purpose of the keyboard. */
export type InputMode = "dial" | "calls" | "speech" | "digits" | "gather" | "keypad"

const prompts = {
  dial: { title: "Dial", hint: "Enter dials the selected number", color: "cyan" },
  calls: { title: "Calls", hint: "Enter opens the selected call; Esc goes back", color: "cyan" },
  speech: { title: "Say", hint: "type what the caller says, Enter speaks it", color: "green" },
  /** Digits were typed: they may be meant for the keypad. */
  digits: { title: "Say: Enter speaks the digits, Tab sends them by the keypad", hint: "", color: "yellow" },
  /** The agent waits for digits. */
  gather: { title: "Say", hint: "the agent waits for digits: 0-9 * # go to the keypad", color: "magenta" },
  keypad: { title: "Keypad", hint: "0-9 * # are sent at once; Tab: back to speech", color: "magenta" }
} as const

/** The input line. */
export const InputLine = (props: {
  readonly mode: InputMode
  readonly value: string
  /** Replaces the default hint. */
  readonly hint?: string
  /** Shown instead of all else. */
  readonly notice?: string | null
  readonly columns: number
  readonly height: number
}) => {
  const { columns, height, mode, value } = props
  const { color, title } = prompts[mode]
  const hint = props.hint ?? prompts[mode].hint
  const room = columns - (height >= 3 ? 4 : 2) - (height >= 3 ? 3 : width(title) + 4)
  const line = (
    <Text wrap="truncate">
      <Text bold color={color}>
        {height >= 3 ? "❯ " : ` ${title} ❯ `}
      </Text>
      {props.notice != null ? (
        <Text color="yellow">{crop(props.notice, room)}</Text>
      ) : value === "" ? (
        <Text dimColor>{crop(hint, room)}</Text>
      ) : (
        cropStart(value, room)
      )}
      {value === "" || props.notice != null ? "" : <Text color={color}>▌</Text>}
    </Text>
  )
  return height >= 3 ? (
    <Frame title={title} area={{ width: columns, height }} color={color}>
      {line}
    </Frame>
  ) : (
    <Box width={columns} height={1}>
      {line}
    </Box>
  )
}

const keys: Readonly<Record<InputMode, ReadonlyArray<readonly [string, string]>>> = {
  dial: [
    ["Enter", "dial"],
    ["↑↓", "choose"],
    ["?", "all keys"],
    ["q", "quit"],
    ["Tab", "calls"],
    ["r", "redial"],
    ["^T", "details"],
    ["PgUp PgDn", "scroll"]
  ],
  calls: [
    ["Enter", "open"],
    ["↑↓", "choose"],
    ["Esc", "back"],
    ["?", "all keys"],
    ["Tab", "numbers"],
    ["^T", "details"],
    ["PgUp PgDn", "scroll"]
  ],
  speech: [
    ["Enter", "say"],
    ["Tab", "keypad"],
    ["Esc", "hang up"],
    ["?", "all keys"],
    ["^C", "quit"],
    ["^T", "details"],
    ["PgUp PgDn", "scroll"]
  ],
  digits: [
    ["Enter", "say"],
    ["Tab", "send by the keypad"],
    ["Esc", "hang up"]
  ],
  gather: [
    ["0-9 * #", "send"],
    ["Enter", "say"],
    ["Esc", "hang up"],
    ["?", "all keys"],
    ["^C", "quit"],
    ["^T", "details"]
  ],
  keypad: [
    ["0-9 * #", "send"],
    ["Tab", "speech"],
    ["Esc", "hang up"],
    ["?", "all keys"],
    ["^C", "quit"]
  ]
}

/** Why the last key did nothing, or the available keys, as many as fit. */
export const Footer = (props: {
  readonly mode: InputMode
  readonly notice: string | null
  readonly columns: number
}) => {
  if (props.notice !== null) {
    return (
      <Text color="yellow" bold wrap="truncate">
        {crop(` ✖ ${props.notice}`, props.columns)}
      </Text>
    )
  }
  let room = props.columns - 1
  const shown = keys[props.mode].filter(([key, does]) => {
    room -= width(key) + width(does) + 4
    return room >= -3
  })
  return (
    <Text wrap="truncate">
      {" "}
      {shown.map(([key, does], n) => (
        <Text key={key}>
          {n === 0 ? "" : "   "}
          <Text bold>{key}</Text> <Text dimColor>{does}</Text>
        </Text>
      ))}
    </Text>
  )
}
