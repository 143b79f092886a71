import { type CallView, failureLine } from "./CallView.ts"

/** `0:07` */
export const clock = (ms: number): string => {
  const s = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`
}

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

/** A latency in milliseconds. */
export const ms = (value: number | null): string =>
  value === null ? "–" : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

/** How a call ended: `ended after 0:07: agent-hangup`. */
export const endLine = ({ answered_at, cause, ended_at, meaning }: CallView): string => {
  const lasted = answered_at === null || ended_at === null ? "" : ` after ${clock(ended_at - answered_at)}`
  return `ended${lasted}: ${meaning ?? cause ?? "unknown cause"}`
}

const latencyLine = (call: CallView): ReadonlyArray<string> => {
  const times = (call.record?.latency_data.turns ?? [])
    .flatMap(({ response_ms }) => (response_ms === null ? [] : [response_ms]))
    .toSorted((a, b) => a - b)
  const median = times[Math.floor((times.length - 1) / 2)]
  return median === undefined ? [] : [`answered in ${ms(median)} (median), ${ms(times.at(-1) ?? median)} at most`]
}

/** What came out of a call that has ended, in lines without a width. Not safe for a terminal: see `printable`. */
export const summaryLines = (call: CallView): ReadonlyArray<string> => {
  const { record } = call
  const head = `Call to ${call.to} ${endLine(call)}`
  if (record === null) return [head, ...(call.unread === null ? [] : [`No details: ${call.unread}`])]
  const { disposition, failure, status, tool_call_count, total_cost, turn_count, warnings, warnings_dropped } = record
  return [
    head,
    [
      `${record.call_id}: ${status}${record.ended_at === null ? " when it was read last" : ""}${disposition === null || disposition === status ? "" : `, ${disposition}`}`,
      plural(turn_count, "turn"),
      plural(tool_call_count, "tool call"),
      `${total_cost} EUR`
    ].join(", "),
    ...latencyLine(call),
    ...(failure === null ? [] : [failureLine(failure)]),
    ...warnings.map(({ reason, what }) => `warning, ${what}: ${reason}`),
    ...(warnings_dropped === 0 ? [] : [`and ${plural(warnings_dropped, "more warning")}`]),
    ...(call.unread === null ? [] : [`The last reading failed: ${call.unread}`]),
    ...(call.debug_url === null ? [] : [`Debug page: ${call.debug_url}`])
  ]
}
