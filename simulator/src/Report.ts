import type { Call } from "@svc/api/calls/Call"
import { ms } from "./CallSummary.ts"
import { type CallView, failureLine } from "./CallView.ts"
import { cutMark, type Latency, mayBeCut } from "./Dialogue.ts"
import { exitCodes } from "./ExitCode.ts"
import type { PhoneState } from "./PhoneState.ts"

/** The output of the headless runner. */

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

/** Reports a session as it proceeds: each event at once, each utterance when it has ended and nothing of it can change. */
export class LiveReport {
  #entries = 0
  #utterances = 0
  #call = -1

  /** The rows that a new state adds. */
  next(state: PhoneState): ReadonlyArray<string> {
    const rows: Array<{ readonly at: number; readonly text: string }> = []
    const { call } = state
    if (call !== null && call.dialled_at !== this.#call) {
      this.#call = call.dialled_at
      this.#utterances = 0
    }
    const start = call?.dialled_at ?? state.now
    for (const entry of state.log) {
      if (entry.id < this.#entries) continue
      this.#entries = entry.id + 1
      rows.push({ at: entry.at, text: `${since(start, entry.at)}  · ${entry.text}` })
    }
    for (const utterance of call?.dialogue.utterances.slice(this.#utterances) ?? []) {
      // The final text of a cut utterance may still come, or the cut itself.
      if (call !== null && call.phase !== "ended" && mayBeCut(call.dialogue, utterance, state.now)) break
      this.#utterances = utterance.id + 1
      const who = utterance.who === "agent" ? "agent " : "caller"
      const mark = utterance.cut ? `  ${cutMark(utterance, call?.ended_at ?? null)}` : ""
      const latency = utterance.latency === null ? "" : `  [${latencyText(utterance.latency)}]`
      rows.push({
        at: utterance.at,
        text: `${since(start, utterance.at)}  ${who}  ${utterance.text}${mark}${latency}`
      })
    }
    return rows.toSorted((a, b) => a.at - b.at).map((row) => row.text)
  }
}

const table = (rows: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> => {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
}

/** The call record with the measured latency of each turn. `debug_url`: the address of its debug page, if it has one. */
export const recordRows = (call: Call, debug_url: string | null): ReadonlyArray<string> => [
  "Call record",
  ...table([
    ["call_id", call.call_id],
    ["status", `${call.status}${call.disposition === null ? "" : `, ${call.disposition}`}`],
    ["ended_reason", call.ended_reason ?? "–"],
    ["from → to", `${call.from_number ?? "–"} → ${call.to_number ?? "–"}`],
    ["duration", `${call.duration_seconds} s, ${call.turn_count} turns`],
    ["tools_called", call.tools_called.join(", ") || "–"],
    ["total_cost", `${call.total_cost} EUR`],
    ...(debug_url === null ? [] : [["debug page", debug_url] as const])
  ]),
  ...(call.failure === null ? [] : [failureLine(call.failure)]),
  ...(call.warnings.length === 0 ? [] : ["Warnings"]),
  ...call.warnings.map(({ at, reason, what }) => `  ${at.toFixed(1).padStart(6)} s  ${what}: ${reason}`),
  ...(call.warnings_dropped === 0 ? [] : [`  and ${call.warnings_dropped} more`]),
  "Transcript",
  ...call.transcript.map((t) => `  ${t.timestamp.toFixed(1).padStart(6)} s  ${t.role.padEnd(9)}  ${t.content}`),
  "Latency per turn",
  ...(call.latency_data.turns.length === 0 ? ["  no turn was measured"] : []),
  ...call.latency_data.turns.map(
    (t) =>
      `  turn ${String(t.turn).padStart(2)}  response ${ms(t.response_ms)}  (model ${ms(t.llm_ttfb_ms)}, sentence ${ms(t.tts_start_ms)}, voice ${ms(t.tts_ttfb_ms)})`
  )
]

/** The outcome of a headless run. */
export interface Outcome {
  readonly exit_code: number
  /** The error, unless the exit code is 0. */
  readonly error: string | null
  /** The number of the failed step, from 1. */
  readonly step: number | null
}

/** What became of a script. */
export interface Ran {
  /** The path of the file; null for a script that is part of a program. */
  readonly file: string | null
  /** The script's own name. */
  readonly name: string | undefined
  readonly result: "ok" | "failed" | "invalid" | "unavailable" | "interrupted" | "not-run"
  readonly outcome: Outcome
  /** How many steps the script has; null when it could not be read. */
  readonly steps: number | null
  readonly call: CallView | null
  readonly duration_ms: number
  /** The rows that were printed, or would have been. */
  readonly output: ReadonlyArray<string>
}

const documentOf = ({ call, duration_ms, file, name, outcome, result, steps }: Ran) => ({
  ok: outcome.exit_code === 0,
  ...outcome,
  script: name ?? null,
  file,
  result,
  steps,
  duration_ms,
  from: call?.from ?? null,
  to: call?.to ?? null,
  ended_by: call?.ended_by ?? null,
  cause: call?.cause ?? null,
  transcript: (call?.dialogue.utterances ?? []).map((utterance) => ({
    role: utterance.who,
    text: utterance.text,
    at_ms: utterance.at - (call?.dialled_at ?? utterance.at),
    cut: utterance.cut,
    latency_ms: utterance.latency?.ms ?? null,
    latency_estimated: utterance.latency?.estimated ?? null
  })),
  tools_called: call?.tools ?? [],
  digits: call?.digits ?? "",
  failure: call?.record?.failure ?? null,
  warnings: call?.record?.warnings ?? [],
  debug_url: call?.debug_url ?? null,
  call: call?.record ?? null
})

/** The document of `--json` for one script. */
export const document = (ran: Ran): string => JSON.stringify(documentOf(ran), null, 2)

/** The most serious of the exit codes: interrupted, the server, a script, an expectation. */
export const worst = (all: ReadonlyArray<Ran>): number => {
  const codes = all.map(({ outcome }) => outcome.exit_code)
  const bySeverity = [exitCodes.interrupted, exitCodes.server, exitCodes.usage, exitCodes.failed]
  return bySeverity.find((code) => codes.includes(code)) ?? exitCodes.ok
}

const results = ["ok", "failed", "invalid", "unavailable", "interrupted", "not-run"] as const

const countsOf = (all: ReadonlyArray<Ran>) =>
  results.map((result) => [result, all.filter((ran) => ran.result === result).length] as const)

/** The document of `--json` for several scripts. */
export const documentOfAll = (all: ReadonlyArray<Ran>, duration_ms: number): string => {
  const exit_code = worst(all)
  const counts = Object.fromEntries(countsOf(all).map(([result, count]) => [result.replace("-", "_"), count]))
  return JSON.stringify({ ok: exit_code === 0, exit_code, duration_ms, counts, scripts: all.map(documentOf) }, null, 2)
}

/** All scripts with what became of them, and their numbers. */
export const summaryRows = (all: ReadonlyArray<Ran>): ReadonlyArray<string> => {
  const width = Math.max(...all.map(({ file }) => (file ?? "").length))
  const rows = all.map(({ duration_ms, file, outcome, result }) => {
    const why = outcome.error === null ? "" : `  ${outcome.error.split("\n")[0]}`
    const time = result === "not-run" ? "     –" : `${(duration_ms / 1000).toFixed(1).padStart(5)} s`
    return `  ${result.padEnd(11)}  ${(file ?? "").padEnd(width)}  ${time}${why}`
  })
  const counts = countsOf(all).flatMap(([result, count]) => (count === 0 ? [] : [`${count} ${result}`]))
  return ["Scripts", ...rows, counts.join(", ")]
}
