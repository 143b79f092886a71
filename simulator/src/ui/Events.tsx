import { Text } from "ink"
import type { LogEntry } from "../PhoneState.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { crop } from "./TextWrap.ts"

const styles = {
  info: { color: "gray", sign: "·" },
  call: { color: "blue", sign: "☎" },
  good: { color: "green", sign: "●" },
  bad: { color: "red", sign: "✖" },
  tool: { color: "magenta", sign: "⚙" }
} as const

const time = (at: number): string => new Date(at).toTimeString().slice(0, 8)

/** The event log, with the newest entry at the bottom. */
export const Events = (props: { readonly log: ReadonlyArray<LogEntry>; readonly area: Area }) => {
  const room = innerArea(props.area)
  if (room.height <= 0) return null
  return (
    <Frame title="Events" area={props.area}>
      {props.log.slice(-room.height).map((entry) => (
        <Text key={entry.id} wrap="truncate">
          {room.width >= 30 ? <Text dimColor>{time(entry.at)} </Text> : null}
          <Text color={styles[entry.kind].color}>
            {styles[entry.kind].sign} {crop(entry.text, room.width - (room.width >= 30 ? 11 : 2))}
          </Text>
        </Text>
      ))}
    </Frame>
  )
}
