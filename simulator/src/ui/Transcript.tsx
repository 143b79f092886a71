import { Text } from "ink"
import type { Line } from "../Dialogue.ts"
import type { CallView } from "../PhoneState.ts"
import { latencyText } from "../Report.ts"
import { Frame, inside } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { pad, wrap } from "./TextWrap.ts"

/** One row of the pane: parts of equal total width. */
export interface TranscriptRow {
  readonly key: string
  readonly who: "agent" | "caller"
  /** Name in the left column; empty on the rows that follow the first of a line. */
  readonly name: string
  readonly text: string
  readonly cut: boolean
  /** Follows the text of a line that is being spoken or was cut. */
  readonly mark: "" | "▌" | "✂ cut off"
  /** Right column. */
  readonly latency: string
  readonly estimated: boolean
}

const names = { agent: "Agent", caller: "You" } as const
const nameColumns = 6
const latencyColumns = 9

/** Breaks the lines of a call into rows of a width. */
export const transcriptRows = (lines: ReadonlyArray<Line>, columns: number): ReadonlyArray<TranscriptRow> => {
  const narrow = columns < 34
  const room = columns - nameColumns - (narrow ? 0 : latencyColumns)
  return lines.flatMap((line) => {
    const mark = line.cut ? "✂ cut off" : line.final ? "" : "▌"
    // The mark stays on one row: it takes part in the wrapping as one word.
    const parts = wrap(`${line.text}${line.cut ? " ✂\u00a0cut\u00a0off" : line.final ? "" : "▌"}`, room)
    return parts.map((part, n): TranscriptRow => {
      const last = n === parts.length - 1
      const bare = last && mark !== "" ? part.replace(/ ?✂\u00a0cut\u00a0off$|▌$/u, "") : part
      return {
        key: `${line.id}.${n}`,
        who: line.who,
        name: n === 0 ? names[line.who] : "",
        text: bare,
        cut: line.cut,
        mark: last ? mark : "",
        latency: n === 0 && line.latency !== null && !narrow ? latencyText(line.latency) : "",
        estimated: line.latency?.estimated ?? false
      }
    })
  })
}

const Row = (props: { readonly row: TranscriptRow; readonly columns: number }) => {
  const { columns, row } = props
  const narrow = columns < 34
  const room = columns - nameColumns - (narrow ? 0 : latencyColumns)
  const mark = row.mark === "" ? "" : row.mark === "▌" || row.text === "" ? row.mark : ` ${row.mark}`
  const color = row.who === "agent" ? "cyan" : "green"
  return (
    <Text wrap="truncate">
      <Text bold color={color}>
        {pad(row.name, nameColumns)}
      </Text>
      <Text dimColor={row.cut} italic={row.cut}>
        {row.text}
      </Text>
      <Text color={row.mark === "▌" ? color : "yellow"}>{mark}</Text>
      {row.latency === "" ? null : (
        <Text color={row.estimated ? "gray" : "yellow"}>
          {" ".repeat(Math.max(1, room - [...row.text, ...mark].length))}
          {row.latency.padStart(latencyColumns - 1)}
        </Text>
      )}
    </Text>
  )
}

/** What is said, while it is said; the newest rows, or earlier ones when scrolled back. */
export const Transcript = (props: { readonly call: CallView | null; readonly scroll: number; readonly area: Area }) => {
  const { area, call } = props
  const room = inside(area)
  const rows = transcriptRows(call?.dialogue.lines ?? [], room.width)
  const back = Math.min(props.scroll, Math.max(0, rows.length - room.height))
  const end = rows.length - back
  const shown = rows.slice(Math.max(0, end - room.height), end)
  const aside = back > 0 ? `${back} more below` : room.width >= 34 ? "answered in" : undefined
  return (
    <Frame
      title="Transcript"
      area={area}
      color={call !== null && call.phase !== "ended" ? "cyan" : "gray"}
      {...(aside === undefined ? {} : { aside })}
    >
      {shown.length === 0 ? (
        <Text dimColor wrap="truncate">
          {call === null ? "What is said in a call appears here." : call.phase === "ended" ? "Nothing was said." : "…"}
        </Text>
      ) : (
        shown.map((row) => <Row key={row.key} row={row} columns={room.width} />)
      )}
    </Frame>
  )
}
