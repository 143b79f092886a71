import type { KeyScope } from "@svc/api/accounts/ApiKey"
import type { Call, TurnLatency } from "@svc/api/calls/Call"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import type { DebugView } from "@svc/call-engine/record/DebugLinks"
import type { CallTimeline } from "@svc/conversation/CallTimeline"
import { html } from "../documents/Html.ts"
import { type Beginning, type BodyRoom, bodyHtml, jsonBeginning, newest, section, shortText } from "./BoundedText.ts"
import { script, style } from "./DebugPageStyle.ts"

/** The content of a debug page: the call, its webhook deliveries, and the scope of the link. */
export interface ShownCall extends DebugView {
  readonly deliveries: ReadonlyArray<DeliveryRecord>
  readonly scope: KeyScope
}

/** The content as HTML, without the player between its parts, which differs by the page's path. */
export interface RenderedCall {
  readonly top: string
  readonly rest: string
  /** The same as inside a JSON string: it is sent to many. */
  readonly json: { readonly top: string; readonly rest: string }
}

/**
 * The most that each section shows. So a page has well below 1 MB, and rendering one takes a few milliseconds, however
 * long the call.
 */
const limits = {
  warnings: { rows: 50, characters: 20_000 },
  transcript: { rows: 300, characters: 60_000 },
  turns: { rows: 50, characters: 50_000 },
  serverRequests: { rows: 100, characters: 150_000 },
  deliveries: { rows: 100, characters: 40_000 },
  timeline: { rows: 300, characters: 150_000 },
  /** Of all bodies together. */
  bodies: 100_000
} as const

/** Milliseconds as a clock that began with the call: `1:02.345`. */
const clock = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

const fact = (name: string, value: string | number | null): string =>
  `<div><dt>${html(name)}</dt><dd>${shortText(value === null || value === "" ? "–" : String(value))}</dd></div>`

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

const failureOf = ({ failure }: Call): string =>
  failure === null
    ? ""
    : `<p class="bad"><strong>${html(failure.stage)}: ${html(failure.reason)}</strong></p><p>${html(failure.hint)}</p>`

function* warningsOf({ isFromOtherVersion, warnings, warnings_dropped }: CallTimeline): Generator<void, string> {
  const version = "This call was held by another version of Svc; the timeline is how this one reads it."
  const line = (text: string) => `<p class="bad">${shortText(text)}</p>`
  const rows = yield* newest(warnings, limits.warnings, ({ field, reason }) => line(`${field} was left out: ${reason}`))
  const more = warnings.length - rows.length + warnings_dropped
  return [
    ...(isFromOtherVersion ? [line(version)] : []),
    ...rows,
    ...(more > 0 ? [line(`${more} more fields were left out`)] : [])
  ].join("")
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

function* waterfall(latencies: ReadonlyArray<TurnLatency>): Generator<void, string> {
  const sum = (stages: ReadonlyArray<number>) => stages.reduce((total, ms) => total + ms, 0)
  const longest = Math.max(1, ...latencies.slice(-limits.turns.rows).map((latency) => sum(stagesOf(latency))))
  const key = stageNames
    .map(
      (name, i) =>
        `<span><svg aria-hidden="true"><rect class="s${i + 1}" width="100%" height="100%"/></svg> ${html(name)}</span>`
    )
    .join("")
  return yield* section(
    "Turns",
    latencies,
    limits.turns,
    (latency) => {
      const stages = stagesOf(latency)
      return `<div class="turn"><span class="faint">turn ${latency.turn}</span>${bar(stages, longest)}<span>${Math.round(sum(stages))} ms</span></div>`
    },
    { intro: `<p class="key faint">${key}</p>`, rest: "GET /v1/calls/<id> has all of them", list: false }
  )
}

const transcriptOf = ({ transcript }: Call): Generator<void, string> =>
  section(
    "Transcript",
    transcript,
    limits.transcript,
    ({ content, role, timestamp }) =>
      `<li><time>${clock(timestamp * 1000)}</time><span class="who ${role}">${role}</span><span class="what">${shortText(content)}</span></li>`,
    { rest: "GET /v1/calls/<id> has the whole transcript", list: true }
  )

const timelineOf = ({ lines }: CallTimeline, room: BodyRoom): Generator<void, string> =>
  section(
    "Timeline",
    lines,
    limits.timeline,
    ({ actor, at, detail, what }, index) => {
      const text =
        detail === undefined
          ? shortText(what)
          : `<details id="l${index}"><summary>${shortText(what)}</summary>${bodyHtml((limit) => jsonBeginning(detail, limit), room)}</details>`
      return `<li><time>${clock(at)}</time><span class="who ${actor}">${actor}</span><div class="what">${text}</div></li>`
    },
    { rest: "earlier entries are not shown", list: true }
  )

/** A body as indented JSON. A text that is not JSON, or was cut when it was stored, stays as it is. */
const bodyOf =
  (body: string) =>
  (limit: number): Beginning => {
    try {
      return jsonBeginning(JSON.parse(body), limit)
    } catch {
      return { text: body, size: body.length }
    }
  }

const serverRequestsOf = ({ call, scope, serverRequests }: ShownCall, room: BodyRoom): Generator<void, string> => {
  const startedAt = Date.parse(call.started_at)
  return section(
    "Requests to the agent's server",
    serverRequests,
    limits.serverRequests,
    ({ duration_ms, error, event, request, response, started_at, status }, index) => {
      const outcome = error === null ? `${status ?? ""}` : `<span class="bad">${shortText(error)}</span>`
      const summary = `${shortText(event)} ${outcome}`
      const bodies = () => {
        const answer = response === null ? "" : `<h3>answer</h3>${bodyHtml(bodyOf(response), room)}`
        return `<details id="x${index}"><summary>${summary}</summary><h3>request</h3>${bodyHtml(bodyOf(request), room)}${answer}</details>`
      }
      return `<li><time>${clock(started_at - startedAt)}</time><span class="who server">${duration_ms} ms</span><div class="what">${scope === "full" ? bodies() : summary}</div></li>`
    },
    { rest: "earlier requests are not shown", list: true }
  )
}

/** Host and path of a URL, without the parts that may be secret. */
const hostAndPath = (url: string): string => {
  const { host, pathname } = new URL(url)
  return host + pathname
}

const deliveriesOf = ({ call, deliveries }: ShownCall): Generator<void, string> => {
  const startedAt = Date.parse(call.started_at)
  return section(
    "Webhooks",
    deliveries,
    limits.deliveries,
    ({ attempt, created_at, error, event, status_code, success, url }) => {
      const outcome = success
        ? `${status_code ?? ""}`
        : `<span class="bad">${shortText(error ?? `status ${status_code}`)}</span>`
      const again = attempt > 1 ? `, attempt ${attempt}` : ""
      return `<li><time>${clock(Date.parse(created_at) - startedAt)}</time><span class="who event">webhook</span><span class="what">${html(event)} to ${shortText(hostAndPath(url))}${again}: ${outcome}</span></li>`
    },
    { rest: "GET /v1/calls/<id>/webhooks has all of them", list: true }
  )
}

const playerOf = ({ has_recording }: Call, path: string): string =>
  has_recording ? `<audio controls preload="metadata" src="${html(path)}/recording.mp3"></audio>` : ""

const scopeNote = `<p class="faint">Prompts and bodies are not shown: a read key made this link. Get one with a full key to see them.</p>`

/** In place of the content, when the link ends while its page is open. */
export const endedLink = `<p class="bad">This link has ended: it was revoked, the call is too old, or its project was deleted. Ask for a new one: GET /v1/calls/&lt;id&gt;/debug-link.</p>`

const insideString = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Renders the content of a page. Yields after each row of it. */
export function* rendering(view: ShownCall): Generator<void, RenderedCall> {
  const { call, scope, timeline } = view
  const room = { left: limits.bodies }
  const top = [
    `<h1>${html(call.call_id)}</h1>${failureOf(call)}${factsOf(call)}`,
    scope === "full" ? "" : scopeNote,
    timeline === undefined ? "" : yield* warningsOf(timeline)
  ].join("")
  const sections = [
    yield* transcriptOf(call),
    yield* waterfall(call.latency_data.turns),
    yield* serverRequestsOf(view, room),
    yield* deliveriesOf(view),
    timeline === undefined ? "" : yield* timelineOf(timeline, room)
  ]
  let json = ""
  for (const one of sections) {
    json += insideString(one)
    yield
  }
  return { top, rest: sections.join(""), json: { top: insideString(top), rest: json } }
}

/** The whole content of the page at this path, as HTML and as JSON. */
export const withPlayer = (
  { json, rest, top }: RenderedCall,
  call: Call,
  path: string
): { readonly html: string; readonly json: string } => {
  const player = playerOf(call, path)
  return { html: top + player + rest, json: `"${json.top}${insideString(player)}${json.rest}"` }
}

/** The whole page. */
export const page = (content: RenderedCall, call: Call, path: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${html(call.call_id)}</title><style>${style}</style></head>
<body><p id="notice" class="bad" hidden></p><main data-live="${call.ended_at === null ? "yes" : "no"}">${withPlayer(content, call, path).html}</main><script>${script}</script></body></html>
`
