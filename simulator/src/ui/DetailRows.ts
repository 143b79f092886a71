import type { TurnLatency } from "@svc/api/calls/Call"
import { clock, ms } from "../CallSummary.ts"
import type { CallView } from "../CallView.ts"

/** A row of the details of a call. */
export interface DetailRow {
  readonly key: string
  readonly text: string
  readonly kind: "head" | "good" | "bad" | "faint"
}

/** `0:07.3` */
const time = (at: number): string => `${clock(at)}.${Math.floor(Math.max(0, at) / 100) % 10}`

const faint = (key: string, text: string): DetailRow => ({ key, text, kind: "faint" })

const whenEmpty = (
  rows: ReadonlyArray<DetailRow>,
  { timeline, unread }: CallView,
  text: string
): ReadonlyArray<DetailRow> => {
  const problem: ReadonlyArray<DetailRow> = unread === null ? [] : [{ key: "unread", text: unread, kind: "bad" }]
  if (rows.length > 0) return [...problem, ...rows]
  return problem.length > 0 ? problem : [faint("empty", timeline === null ? "not read yet" : text)]
}

/** The requests to the agent's server. */
export const requestRows = (call: CallView): ReadonlyArray<DetailRow> =>
  whenEmpty(
    (call.timeline?.server_requests ?? []).flatMap(({ duration_ms, error, event, started_at, status }, n) => {
      const isGood = error === null && status !== null && status < 300
      const row: DetailRow = {
        key: `${n}`,
        text: `${time(started_at)}  ${event}  ${status ?? "no answer"}  ${duration_ms} ms`,
        kind: isGood ? "good" : "bad"
      }
      return error === null ? [row] : [row, { key: `${n}.error`, text: `        ${error}`, kind: "bad" as const }]
    }),
    call,
    "no requests yet"
  )

/** The attempts to deliver events of the call. */
export const webhookRows = (call: CallView): ReadonlyArray<DetailRow> =>
  whenEmpty(
    (call.timeline?.webhooks ?? []).map(({ at, attempt, error, event, event_id, status_code, success, url }, n) => ({
      key: `${event_id}.${attempt}.${n}`,
      text: [
        `${time(at)}  ${event}`,
        status_code === null ? (error ?? "no answer") : `${status_code}`,
        attempt > 1 ? `attempt ${attempt}` : "",
        url
      ]
        .filter((part) => part !== "")
        .join("  "),
      kind: success ? ("good" as const) : ("bad" as const)
    })),
    call,
    "no webhook has got an event of this call"
  )

/** The stages of an answer in their order, with a shorter name for narrow panes; those without one are left out there. */
const stages = [
  { name: "final words", short: "words", of: ({ endpointing_ms }: TurnLatency) => endpointing_ms },
  { name: "first token", short: "token", of: ({ llm_ttfb_ms }: TurnLatency) => llm_ttfb_ms },
  { name: "sentence", short: "sentence", of: ({ tts_start_ms }: TurnLatency) => tts_start_ms },
  { name: "first audio", short: "audio", of: ({ tts_ttfb_ms }: TurnLatency) => tts_ttfb_ms },
  { name: "platform", short: null, of: ({ platform_ms }: TurnLatency) => platform_ms },
  { name: "answer", short: "answer", of: ({ response_ms }: TurnLatency) => response_ms }
] as const

/**
 * Where the time between the caller's last sound and the agent's first one goes, per turn. `final words`: from the end of
 * the sound; `first token`, `sentence`: from the request to the model; `first audio`: from the sentence; `answer`: from
 * the final words to the first sound. See docs/reference/calls.md.
 */
export const latencyRows = (call: CallView, columns: number): ReadonlyArray<DetailRow> => {
  const turns = call.record?.latency_data.turns ?? []
  if (turns.length === 0) return whenEmpty([], call, "no turn was measured yet")
  const isWide = columns >= 76
  const shown = stages.filter(({ short }) => isWide || short !== null)
  const row = (cells: ReadonlyArray<string>) => cells.map((cell) => cell.padStart(isWide ? 12 : 9)).join("")
  const head = row(shown.map(({ name, short }) => (isWide ? name : (short ?? name))))
  return whenEmpty(
    [
      { key: "head", text: `turn${head}`, kind: "head" },
      ...turns.map((turn, n) => ({
        key: `${n}`,
        text: `${String(turn.turn).padStart(4)}${row(shown.map(({ of }) => ms(of(turn))))}`,
        kind: "good" as const
      }))
    ],
    call,
    ""
  )
}
