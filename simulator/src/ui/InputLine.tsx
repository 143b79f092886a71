import { Box, Text } from "ink"
import { Frame } from "./Frame.tsx"
import { crop, cropStart, width } from "./TextWrap.ts"

/** The current purpose of the keyboard. */
export type InputMode = "dial" | "speech" | "keypad"

const prompts = {
  dial: { title: "Dial", hint: "Enter dials the selected number", color: "cyan" },
  speech: { title: "Say", hint: "type what the caller says, Enter speaks it", color: "green" },
  keypad: { title: "Keypad", hint: "0-9 * # are sent as tones; Tab: back to speech", color: "magenta" }
} as const

/** The input line. */
export const InputLine = (props: {
  readonly mode: InputMode
  readonly value: string
  /** Replaces the default hint. */
  readonly hint?: string
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
      {value === "" ? <Text dimColor>{crop(hint, room)}</Text> : cropStart(value, room)}
      {value === "" ? "" : <Text color={color}>▌</Text>}
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
    ["r", "redial"],
    ["q", "quit"],
    ["l", "reload list"],
    ["PgUp PgDn", "scroll"]
  ],
  speech: [
    ["Enter", "say"],
    ["Tab", "keypad"],
    ["Esc", "hang up"],
    ["^C", "quit"],
    ["PgUp PgDn", "scroll"]
  ],
  keypad: [
    ["0-9 * #", "send"],
    ["Tab", "speech"],
    ["Esc", "hang up"],
    ["^C", "quit"]
  ]
}

/** The available keys, as many as fit. */
export const Footer = (props: { readonly mode: InputMode; readonly columns: number }) => {
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
