import type { Call, TurnLatency } from "@svc/api/calls/Call"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import type { ServerRequest } from "@svc/call-engine/agent-server/ServerRequest"
import type { DebugView } from "@svc/call-engine/record/DebugLinks"
import type { CallTimeline, TimelineEntry } from "@svc/conversation/CallTimeline"
import { html } from "../documents/Html.ts"
import { script, style } from "./DebugPageStyle.ts"

/** The content of a debug page: the call, its webhook deliveries, and the path of the page. */
export interface ShownCall extends DebugView {
  readonly deliveries: ReadonlyArray<DeliveryRecord>
  readonly path: string
}

/** Milliseconds as a clock that began with the call: `1:02.345`. */
const clock = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

const fact = (name: string, value: string | number | null): string =>
  `<div><dt>${html(name)}</dt><dd>${html(value === null || value === "" ? "–" : String(value))}</dd></div>`

const factsOf = (call: Call): string =>
  `<dl>${[
    fact("status", call.status),
    fact("disposition", call.disposition),
    fact("ended_reason", call.ended_reason),
    fact("from", call.from_number),
    fact("to", call.to_number),
    fact("agent", call.agent_id),
    fact("started_at", call.started_at),
    fact("duration", `${call.duration_seconds} s`),
    fact("cost", `${call.total_cost} EUR`),
    fact("tools", call.tools_called.join(", "))
  ].join("")}</dl>`

const warningsOf = ({ isFromOtherVersion, warnings }: CallTimeline): string => {
  const lines = [
    ...(isFromOtherVersion
      ? ["This call was held by another version of Svc; the timeline is how this one reads it."]
      : []),
    ...warnings.map(({ field, reason }) => `${field} was left out: ${reason}`)
  ]
  return lines.map((text) => `<p class="bad">${html(text)}</p>`).join("")
}

/** The successive stages of the wait for an agent's turn, in milliseconds, from the caller's last sound. */
const stagesOf = (latency: TurnLatency): ReadonlyArray<number> => {
  const { endpointing_ms, llm_ttfb_ms, response_ms, tts_start_ms, tts_ttfb_ms } = latency
  const token = llm_ttfb_ms ?? 0
  const sentence = Math.max(0, (tts_start_ms ?? 0) - token)
  const audio = tts_ttfb_ms ?? 0
  const rest = Math.max(0, (response_ms ?? 0) - token - sentence - audio)
  return [endpointing_ms ?? 0, token, sentence, audio, rest]
}

const stageNames = ["endpointing", "model's first token", "first sentence", "first audio", "until it was played"]

const bar = (stages: ReadonlyArray<number>, longest: number): string => {
  let x = 0
  const parts = stages.map((ms, index) => {
    const width = (ms / longest) * 100
    const part = `<rect class="s${index + 1}" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%" height="100%"><title>${html(
      `${stageNames[index] ?? ""}: ${Math.round(ms)} ms`
    )}</title></rect>`
    x += width
    return part
  })
  return `<svg role="img" aria-label="${html(stages.map((ms, i) => `${stageNames[i] ?? ""} ${Math.round(ms)} ms`).join(", "))}">${parts.join("")}</svg>`
}

const waterfall = (latencies: ReadonlyArray<TurnLatency>): string => {
  if (latencies.length === 0) return ""
  const rows = latencies.map((latency) => ({ latency, stages: stagesOf(latency) }))
  const sum = (stages: ReadonlyArray<number>) => stages.reduce((total, ms) => total + ms, 0)
  const longest = Math.max(1, ...rows.map(({ stages }) => sum(stages)))
  const key = stageNames
    .map(
      (name, i) =>
        `<span><svg aria-hidden="true"><rect class="s${i + 1}" width="100%" height="100%"/></svg> ${html(name)}</span>`
    )
    .join("")
  return `<h2>Turns</h2><p class="key faint">${key}</p>${rows
    .map(
      ({ latency, stages }) =>
        `<div class="turn"><span class="faint">turn ${latency.turn}</span>${bar(stages, longest)}<span>${Math.round(sum(stages))} ms</span></div>`
    )
    .join("")}`
}

const transcriptOf = (call: Call): string =>
  call.transcript.length === 0
    ? ""
    : `<h2>Transcript</h2><ol>${call.transcript
        .map(
          ({ content, role, timestamp }) =>
            `<li><time>${clock(timestamp * 1000)}</time><span class="who ${role}">${role}</span><span class="what">${html(content)}</span></li>`
        )
        .join("")}</ol>`

const timelineLine = ({ actor, at, detail, what }: TimelineEntry, index: number): string => {
  const text =
    detail === undefined
      ? html(what)
      : `<details id="l${index}"><summary>${html(what)}</summary><pre>${html(JSON.stringify(detail, null, 2))}</pre></details>`
  return `<li><time>${clock(at)}</time><span class="who ${actor}">${actor}</span><div class="what">${text}</div></li>`
}

/** Indented JSON. A text that is not JSON, or was cut, is returned unchanged. */
const pretty = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

const serverRequestLine =
  (startedAt: number) =>
  ({ duration_ms, error, event, request, response, started_at, status }: ServerRequest, index: number): string => {
    const outcome = error === null ? `${status ?? ""}` : `<span class="bad">${html(error)}</span>`
    const answer = response === null ? "" : `<h3>answer</h3><pre>${html(pretty(response))}</pre>`
    return `<li><time>${clock(started_at - startedAt)}</time><span class="who server">${duration_ms} ms</span><div class="what"><details id="x${index}"><summary>${html(event)} ${outcome}</summary><h3>request</h3><pre>${html(pretty(request))}</pre>${answer}</details></div></li>`
  }

const serverRequestsOf = ({ call, serverRequests }: DebugView): string =>
  serverRequests.length === 0
    ? ""
    : `<h2>Requests to the agent's server</h2><ol>${serverRequests.map(serverRequestLine(Date.parse(call.started_at))).join("")}</ol>`

/** Host and path of a URL, without the parts that may be secret. */
const hostAndPath = (url: string): string => {
  const { host, pathname } = new URL(url)
  return host + pathname
}

const deliveryLine =
  (startedAt: number) =>
  ({ attempt, created_at, error, event, status_code, success, url }: DeliveryRecord): string => {
    const outcome = success
      ? `${status_code ?? ""}`
      : `<span class="bad">${html(error ?? `status ${status_code}`)}</span>`
    const again = attempt > 1 ? `, attempt ${attempt}` : ""
    return `<li><time>${clock(Date.parse(created_at) - startedAt)}</time><span class="who event">webhook</span><span class="what">${html(event)} to ${html(hostAndPath(url))}${again}: ${outcome}</span></li>`
  }

const deliveriesOf = ({ call, deliveries }: ShownCall): string =>
  deliveries.length === 0
    ? ""
    : `<h2>Webhooks</h2><ol>${deliveries.map(deliveryLine(Date.parse(call.started_at))).join("")}</ol>`

const playerOf = ({ has_recording }: Call, path: string): string =>
  has_recording ? `<audio controls preload="metadata" src="${html(path)}/recording.mp3"></audio>` : ""

/** The content of the page, which is sent again when it changes. */
export const content = (view: ShownCall): string => {
  const { call, path, timeline } = view
  return [
    `<h1>${html(call.call_id)}</h1>${factsOf(call)}`,
    timeline === undefined ? "" : warningsOf(timeline),
    playerOf(call, path),
    transcriptOf(call),
    waterfall(call.latency_data.turns),
    serverRequestsOf(view),
    deliveriesOf(view),
    timeline === undefined ? "" : `<h2>Timeline</h2><ol>${timeline.lines.map(timelineLine).join("")}</ol>`
  ].join("")
}

/** The whole page. */
export const page = (view: ShownCall): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${html(view.call.call_id)}</title><style>${style}</style></head>
<body><main data-live="${view.call.ended_at === null ? "yes" : "no"}">${content(view)}</main><script>${script}</script></body></html>
`
