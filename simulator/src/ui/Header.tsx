import { Box, Text } from "ink"
import { clock, endLine } from "../CallSummary.ts"
import type { CallView } from "../CallView.ts"
import type { Connection } from "../PhoneState.ts"
import { crop, printable, width } from "./TextWrap.ts"

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/** The color and text of the connection state. */
const status = (connection: Connection, now: number, short: boolean): readonly [string, string] => {
  switch (connection.status) {
    case "connecting":
      return ["yellow", short ? "◌ connecting" : "◌ connecting to the server"]
    case "connected":
      return ["green", connection.again ? (short ? "● back" : "● the server is back") : "● connected"]
    case "away": {
      const wait = connection.retry_at <= now ? "retrying now" : `retrying in ${seconds(connection.retry_at - now)} s`
      return ["red", short ? "✖ server is away" : `✖ the server is away, ${wait}`]
    }
  }
}

/** The first row: name, server address and connection state. */
export const Header = (props: {
  readonly url: string
  readonly connection: Connection
  readonly now: number
  readonly columns: number
}) => {
  const { columns } = props
  const [color, text] = status(props.connection, props.now, columns < 60)
  const room = columns - width(text) - 3
  const name = room >= 13 ? " Svc simulator " : room >= 3 ? " Svc " : ""
  const address = crop(props.url.replace(/^https?:\/\//, ""), Math.max(0, room - width(name) - 1))
  return (
    <Box width={columns} height={1} justifyContent="space-between">
      <Text wrap="truncate">
        <Text bold inverse color="cyan">
          {name}
        </Text>
        <Text dimColor> {address}</Text>
      </Text>
      <Text bold color={color} wrap="truncate">
        {text}{" "}
      </Text>
    </Box>
  )
}

/** The color and text of the call's state. */
const phrase = (call: CallView, now: number): readonly [string, string] => {
  switch (call.phase) {
    case "dialling":
      return ["yellow", `◌ dialling ${call.to}`]
    case "ringing":
      return ["yellow", `◌ ringing ${call.to}`]
    case "live":
      return ["green", `● in call with ${call.to}  ${clock(now - (call.answered_at ?? now))}`]
    case "ended":
      return [call.ended_by === "lost" || call.ended_by === "rejected" ? "red" : "gray", `○ call ${endLine(call)}`]
  }
}

/** The second row: the state of the call or, when there is no connection, its error. */
export const CallBar = (props: {
  readonly call: CallView | null
  readonly connection: Connection
  readonly now: number
  readonly columns: number
}) => {
  const { call, columns, connection } = props
  const [color, text] =
    connection.status === "away"
      ? (["red", `✖ ${connection.reason}; calls are possible again when it is back`] as const)
      : call === null
        ? (["gray", "○ no call yet: choose a number, or type one, and press Enter"] as const)
        : phrase(call, props.now)
  const id = printable(call?.call_id ?? "")
  const showId = id !== "" && connection.status !== "away" && width(text) + width(id) + 4 <= columns
  return (
    <Box width={columns} height={1} justifyContent="space-between">
      <Text color={color} wrap="truncate">
        {" "}
        {crop(text, columns - 2)}
      </Text>
      {showId ? <Text dimColor>{id} </Text> : null}
    </Box>
  )
}
