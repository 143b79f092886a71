import { Text } from "ink"
import type { Utterance } from "../Dialogue.ts"
import type { CallView } from "../PhoneState.ts"
import { latencyText } from "../Report.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { pad, wrap } from "./TextWrap.ts"

/** One row of the pane. */
export interface TranscriptRow {
  readonly key: string
  readonly who: "agent" | "caller"
  /** The name in the left column; empty after the first row of an utterance. */
  readonly name: string
  readonly text: string
  readonly cut: boolean
  /** Follows the text of an utterance that has not ended or was cut. */
  readonly mark: "" | "▌" | "✂ cut off"
  /** The text of the right column. */
  readonly latency: string
  readonly estimated: boolean
}

const names = { agent: "Agent", caller: "You" } as const
const nameColumns = 6
const latencyColumns = 9

/** Wraps utterances into rows of a width. */
export const transcriptRows = (utterances: ReadonlyArray<Utterance>, columns: number): ReadonlyArray<TranscriptRow> => {
  const narrow = columns < 34
  const room = columns - nameColumns - (narrow ? 0 : latencyColumns)
  return utterances.flatMap((utterance) => {
    const mark = utterance.cut ? "✂ cut off" : utterance.final ? "" : "▌"
    // The mark is wrapped as one word, so that it stays in one row.
    const parts = wrap(`${utterance.text}${utterance.cut ? " ✂\u00a0cut\u00a0off" : utterance.final ? "" : "▌"}`, room)
    return parts.map((part, n): TranscriptRow => {
      const last = n === parts.length - 1
      const bare = last && mark !== "" ? part.replace(/ ?✂\u00a0cut\u00a0off$|▌$/u, "") : part
      return {
        key: `${utterance.id}.${n}`,
        who: utterance.who,
        name: n === 0 ? names[utterance.who] : "",
        text: bare,
        cut: utterance.cut,
        mark: last ? mark : "",
        latency: n === 0 && utterance.latency !== null && !narrow ? latencyText(utterance.latency) : "",
        estimated: utterance.latency?.estimated ?? false
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

/** The live transcript: the newest rows, or earlier ones when scrolled back. */
export const Transcript = (props: { readonly call: CallView | null; readonly scroll: number; readonly area: Area }) => {
  const { area, call } = props
  const room = innerArea(area)
  const rows = transcriptRows(call?.dialogue.utterances ?? [], room.width)
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
          {call === null
            ? "The transcript of a call appears here."
            : call.phase === "ended"
              ? "Nothing was said."
              : "…"}
        </Text>
      ) : (
        shown.map((row) => <Row key={row.key} row={row} columns={room.width} />)
      )}
    </Frame>
  )
}
