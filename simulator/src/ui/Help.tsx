import { Text } from "ink"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { crop, pad } from "./TextWrap.ts"

const sections = [
  {
    title: "Before a call",
    keys: [
      ["0-9 +", "type a number to dial"],
      ["↑ ↓", "choose a number, or a call"],
      ["Enter", "dial the number, or open the call"],
      ["Tab", "change between numbers and calls"],
      ["r", "dial the last number again"],
      ["l", "read the list of numbers again"],
      ["q", "quit"]
    ]
  },
  {
    title: "During a call",
    keys: [
      ["Enter", "say what was typed"],
      ["0-9 * #", "to the keypad while the agent waits for digits"],
      ["Tab, ^D", "keypad on or off; sends digits that were typed"],
      ["Esc, ^H", "hang up"]
    ]
  },
  {
    title: "Always",
    keys: [
      ["^T", "requests, webhooks and latencies, or the transcript"],
      ["PgUp PgDn", "scroll"],
      ["^U", "delete what was typed"],
      ["?", "these keys (in a call: in an empty line)"],
      ["^C", "hang up and quit"]
    ]
  }
] as const

/** All keys, in the place of the panes. `scroll`: how many rows it is scrolled forth, where there is no room for all. */
export const Help = (props: { readonly scroll: number; readonly area: Area }) => {
  const room = innerArea(props.area)
  const rows = sections.flatMap(({ keys, title }) => [
    <Text key={title} bold color="cyan" wrap="truncate">
      {crop(title, room.width)}
    </Text>,
    ...keys.map(([key, does]) => (
      <Text key={`${title}.${key}`} wrap="truncate">
        <Text bold>{pad(`  ${key}`, 13)}</Text>
        {crop(does, room.width - 13)}
      </Text>
    ))
  ])
  const from = Math.min(props.scroll, Math.max(0, rows.length - room.height))
  const below = rows.length - room.height - from
  return (
    <Frame title="Keys" aside={below > 0 ? `${below} more: PgDn` : "Esc closes"} area={props.area} color="cyan">
      {rows.slice(from, from + room.height)}
    </Frame>
  )
}
