import { Text } from "ink"
import type { CallView } from "../CallView.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { fill, pad, width } from "./TextWrap.ts"
import {
  asideColumns,
  isNarrow,
  nameColumns,
  type TranscriptRow,
  textColumns,
  transcriptRows
} from "./TranscriptRows.ts"

const colors = {
  agent: "cyan",
  caller: "green",
  tool: "magenta",
  "failed tool": "red",
  summary: "white"
} as const

const Row = (props: { readonly row: TranscriptRow; readonly columns: number }) => {
  const { columns, row } = props
  if (row.kind === "summary") return <Text wrap="truncate">{row.text}</Text>
  const mark = row.mark === "" ? "" : row.mark === "▌" || row.text === "" ? row.mark : ` ${row.mark}`
  const color = colors[row.kind]
  const isTool = row.kind === "tool" || row.kind === "failed tool"
  return (
    <Text wrap="truncate">
      <Text bold color={color}>
        {pad(row.name, nameColumns)}
      </Text>
      <Text dimColor={row.cut} italic={row.cut} {...(isTool ? { color } : {})}>
        {row.text}
      </Text>
      <Text color={row.mark === "▌" ? color : "yellow"}>{mark}</Text>
      {row.aside === "" ? null : (
        <Text color={row.estimated ? "gray" : "yellow"}>
          {" ".repeat(Math.max(1, textColumns(columns) - width(row.text + mark) + 1))}
          {row.aside.padStart(asideColumns - 1)}
        </Text>
      )}
    </Text>
  )
}

/**
 * The live transcript, or that of an earlier call: the newest rows, or earlier ones when scrolled back. `isOpened`: it is
 * an earlier one. `problem` is shown as long as there was no call.
 */
export const Transcript = (props: {
  readonly call: CallView | null
  readonly isOpened: boolean
  readonly problem: string | null
  readonly scroll: number
  readonly area: Area
}) => {
  const { area, call, isOpened, problem } = props
  const room = innerArea(area)
  const rows = call === null ? [] : transcriptRows(call, room.width)
  const back = Math.min(props.scroll, Math.max(0, rows.length - room.height))
  const end = rows.length - back
  const shown = rows.slice(Math.max(0, end - room.height), end)
  const aside = back > 0 ? `${back} more below` : isNarrow(room.width) ? undefined : "answered in"
  return (
    <Frame
      title={isOpened && call !== null ? `Earlier call to ${call.to}` : "Transcript"}
      area={area}
      color={call !== null && (isOpened || call.phase !== "ended") ? "cyan" : "gray"}
      {...(aside === undefined ? {} : { aside })}
    >
      {call === null && problem !== null ? (
        <Text color="red">{fill(problem, room)}</Text>
      ) : shown.length === 0 ? (
        <Text dimColor wrap="truncate">
          {call === null ? "The transcript of a call appears here." : "…"}
        </Text>
      ) : (
        shown.map((row) => <Row key={row.key} row={row} columns={room.width} />)
      )}
    </Frame>
  )
}
