import type { Call } from "@svc/api/calls/Call"
import type { Latency } from "./Dialogue.ts"
import type { CallView, PhoneState } from "./PhoneState.ts"

/** What the headless runner prints. */

/** `0:07.3` since the call was dialled. */
const since = (start: number, at: number): string => {
  const ms = Math.max(0, at - start)
  return `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}.${Math.floor(ms / 100) % 10}`
}

/** `612 ms`, `~640 ms` when estimated. */
export const latencyText = (latency: Latency): string => {
  const ms = latency.ms < 10 && !latency.estimated ? latency.ms.toFixed(1) : String(Math.round(latency.ms))
  return `${latency.estimated ? "~" : ""}${ms} ms`
}

/** Prints a session as it goes on: each utterance once it is complete, each event when it comes. */
export class LiveReport {
  #entries = 0
  #lines = 0
  #call = -1

  /** The rows that a new state adds. */
  next(state: PhoneState): ReadonlyArray<string> {
    const rows: Array<{ readonly at: number; readonly text: string }> = []
    const { call } = state
    if (call !== null && call.dialled_at !== this.#call) {
      this.#call = call.dialled_at
      this.#lines = 0
    }
    const start = call?.dialled_at ?? state.now
    for (const entry of state.log) {
      if (entry.id < this.#entries) continue
      this.#entries = entry.id + 1
      rows.push({ at: entry.at, text: `${since(start, entry.at)}  · ${entry.text}` })
    }
    for (const line of call?.dialogue.lines.slice(this.#lines) ?? []) {
      // The words of an utterance that was stopped may still be on their way.
      if (call?.phase !== "ended" && (!line.final || line.id === call?.dialogue.cut_line)) break
      this.#lines = line.id + 1
      const who = line.who === "agent" ? "agent " : "caller"
      const latency = line.latency === null ? "" : `  [${latencyText(line.latency)}]`
      rows.push({
        at: line.at,
        text: `${since(start, line.at)}  ${who}  ${line.text}${line.cut ? "  ✂ cut off" : ""}${latency}`
      })
    }
    return rows.toSorted((a, b) => a.at - b.at).map((row) => row.text)
  }
}

const table = (rows: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> => {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
}

const ms = (n: number | null): string => (n === null ? "–" : `${n < 10 ? n.toFixed(1) : Math.round(n)} ms`)

/** The call record, and the latency of each turn as the server measured it. */
export const recordRows = (call: Call): ReadonlyArray<string> => [
  "Call record",
  ...table([
    ["call_id", call.call_id],
    ["status", `${call.status}${call.disposition === null ? "" : `, ${call.disposition}`}`],
    ["ended_reason", call.ended_reason ?? "–"],
    ["from → to", `${call.from_number ?? "–"} → ${call.to_number ?? "–"}`],
    ["duration", `${call.duration_seconds} s, ${call.turn_count} turns`],
    ["tools_called", call.tools_called.join(", ") || "–"],
    ["total_cost", `${call.total_cost} EUR`]
  ]),
  "Transcript",
  ...call.transcript.map((t) => `  ${t.timestamp.toFixed(1).padStart(6)} s  ${t.role.padEnd(9)}  ${t.content}`),
  "Latency per turn",
  ...(call.latency_data.turns.length === 0 ? ["  no turn was measured"] : []),
  ...call.latency_data.turns.map(
    (t) =>
      `  turn ${String(t.turn).padStart(2)}  response ${ms(t.response_ms)}  (model ${ms(t.llm_ttfb_ms)}, sentence ${ms(t.tts_start_ms)}, voice ${ms(t.tts_ttfb_ms)})`
  )
]

/** How a headless run ended. */
export interface Outcome {
  readonly exit_code: number
  /** Why it was not 0. */
  readonly error: string | null
  /** The step that was not met, from 1. */
  readonly step: number | null
}

/** The one document of `--json`. */
export const document = (outcome: Outcome, script: string | undefined, call: CallView | null): string =>
  JSON.stringify(
    {
      ok: outcome.exit_code === 0,
      ...outcome,
      script: script ?? null,
      from: call?.from ?? null,
      to: call?.to ?? null,
      ended_by: call?.ended_by ?? null,
      cause: call?.cause ?? null,
      transcript: (call?.dialogue.lines ?? []).map((line) => ({
        role: line.who,
        text: line.text,
        at_ms: line.at - (call?.dialled_at ?? line.at),
        cut: line.cut,
        latency_ms: line.latency?.ms ?? null,
        latency_estimated: line.latency?.estimated ?? null
      })),
      tools_called: call?.tools ?? [],
      digits: call?.digits ?? "",
      call: call?.record ?? null
    },
    null,
    2
  )
