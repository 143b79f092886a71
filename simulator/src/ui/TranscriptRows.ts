import type { TimelineTool } from "@svc/api/calls/CallTimeline"
import { summaryLines } from "../CallSummary.ts"
import type { CallView } from "../CallView.ts"
import { cutMark, type Utterance } from "../Dialogue.ts"
import { latencyText } from "../Report.ts"
import { crop, wrap } from "./TextWrap.ts"

/** One row of the pane. */
export interface TranscriptRow {
  readonly key: string
  readonly kind: "agent" | "caller" | "tool" | "failed tool" | "summary"
  /** The name in the left column; empty after the first row of an entry. */
  readonly name: string
  readonly text: string
  readonly cut: boolean
  /** Follows the text of an utterance that has not ended or was cut. */
  readonly mark: string
  /** The text of the right column. */
  readonly aside: string
  readonly estimated: boolean
}

export const nameColumns = 6
export const asideColumns = 9

/** Whether a pane has no room for the right column. */
export const isNarrow = (columns: number): boolean => columns < 34

/** The columns for texts. */
export const textColumns = (columns: number): number => columns - nameColumns - (isNarrow(columns) ? 0 : asideColumns)

/** The most characters that are shown of a tool's arguments, and of its result. */
const shownJson = 300

const names = { agent: "Agent", caller: "You" } as const

const utteranceRows = (
  utterance: Utterance,
  ended_at: number | null,
  columns: number
): ReadonlyArray<TranscriptRow> => {
  const mark = utterance.cut ? cutMark(utterance, ended_at) : utterance.final ? "" : "▌"
  // The mark is wrapped as one word, so that it stays in one row.
  const word = mark.replaceAll(" ", "\u00a0")
  const parts = wrap(`${utterance.text}${utterance.cut ? ` ${word}` : mark}`, textColumns(columns))
  return parts.map((part, n): TranscriptRow => {
    const isMarked = n === parts.length - 1 && word !== "" && part.endsWith(word)
    return {
      key: `${utterance.id}.${n}`,
      kind: utterance.who,
      name: n === 0 ? names[utterance.who] : "",
      text: isMarked ? part.slice(0, -word.length).trimEnd() : part,
      cut: utterance.cut,
      mark: isMarked ? mark : "",
      aside: n === 0 && utterance.latency !== null && !isNarrow(columns) ? latencyText(utterance.latency) : "",
      estimated: utterance.latency?.estimated ?? false
    }
  })
}

/** A value of a tool in one line of limited length; empty for a body that the key may not see. */
const json = (value: unknown): string => {
  if (value == null) return ""
  // Cut before it is measured: results have up to 16,384 characters, and each frame measures them.
  const text = JSON.stringify(value)
  return crop(text.length > 2 * shownJson ? `${text.slice(0, 2 * shownJson)}…` : text, shownJson)
}

/** How long a tool took. */
export const toolTime = ({ ended_at, started_at }: TimelineTool): string =>
  ended_at === null ? "running" : `${Math.round(ended_at - started_at)} ms`

/** A tool with arguments and result: `find_slots {"day":"Friday"} → {"slots":[]}`. */
export const toolText = ({ arguments: given, name, result, status }: TimelineTool): string => {
  const outcome = status === "completed" ? json(result) || "done" : status === "timeout" ? "no answer in time" : status
  const fault = status === "failed" ? json(result) : ""
  return [name, json(given), "→", outcome, fault].filter((part) => part !== "").join(" ")
}

const toolRows = (tool: TimelineTool, columns: number): ReadonlyArray<TranscriptRow> =>
  wrap(`${toolText(tool)}${isNarrow(columns) ? ` (${toolTime(tool)})` : ""}`, textColumns(columns)).map((text, n) => ({
    key: `tool.${tool.id}.${tool.started_at}.${n}`,
    kind: tool.status === "failed" || tool.status === "timeout" ? "failed tool" : "tool",
    name: n === 0 ? "Tool" : "",
    text,
    cut: false,
    mark: "",
    aside: n === 0 && !isNarrow(columns) ? toolTime(tool) : "",
    estimated: false
  }))

const summaryRows = (call: CallView, columns: number): ReadonlyArray<TranscriptRow> =>
  summaryLines(call).flatMap((line, at) =>
    wrap(line, columns).map((text, n) => ({
      key: `summary.${at}.${n}`,
      kind: "summary" as const,
      name: "",
      text,
      cut: false,
      mark: "",
      aside: "",
      estimated: false
    }))
  )

/**
 * Utterances and tools in order of time, and after the call its summary, as rows of a width. Times of tools are those of
 * the server, so their order beside utterances is that of an undelayed connection.
 */
export const transcriptRows = (call: CallView, columns: number): ReadonlyArray<TranscriptRow> => {
  const waiting = [...(call.timeline?.tools ?? [])]
  const rows: Array<TranscriptRow> = []
  const addTools = (before: number) => {
    while (waiting[0] !== undefined && waiting[0].started_at < before) {
      rows.push(...toolRows(waiting[0], columns))
      waiting.shift()
    }
  }
  for (const utterance of call.dialogue.utterances) {
    addTools(utterance.at - call.dialled_at)
    rows.push(...utteranceRows(utterance, call.ended_at, columns))
  }
  addTools(Number.POSITIVE_INFINITY)
  if (call.phase === "ended") rows.push(...summaryRows(call, columns))
  return rows
}
