import type { KeyScope } from "@svc/api/accounts/ApiKey"
import type { TurnLatency } from "@svc/api/calls/Call"
import type { CallTimeline, TimelineProviderRequest } from "@svc/api/calls/CallTimeline"
import { type Beginning, type BodyRoom, jsonBeginning } from "@svc/conversation/BoundedJson"
import { shortened } from "@svc/conversation/Shortened"
import { html } from "../documents/Html.ts"
import { bodyHtml, linkedText, section, shortText } from "./BoundedText.ts"
import { factsOf, settingsOf } from "./CallFacts.ts"
import { callScript } from "./CallScript.ts"
import { script, style } from "./DebugPageStyle.ts"

/** The content of a debug page: the call's timeline, the scope of the link, and the address of the API. */
export interface ShownCall {
  readonly timeline: CallTimeline
  readonly scope: KeyScope
  /** Where the call's trace is shown; undefined: it has none, or not yet. */
  readonly traceUrl?: string | undefined
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
  transcript: { rows: 300, characters: 90_000 },
  latencies: { rows: 50, characters: 50_000 },
  tools: { rows: 50, characters: 60_000 },
  serverRequests: { rows: 100, characters: 150_000 },
  providerRequests: { rows: 60, characters: 40_000 },
  webhooks: { rows: 100, characters: 40_000 },
  events: { rows: 300, characters: 150_000 },
  /** Of all bodies together. */
  bodies: 100_000
} as const

/** Milliseconds as a clock that began with the call: `1:02.345`. */
const clock = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

/** The same to a tenth of a second, for reading. */
const shortClock = (ms: number): string => {
  const tenths = Math.round(Math.max(0, ms) / 100)
  return `${Math.floor(tenths / 600)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`
}

/** Good, bad or under way, said by a sign and words as well as by colour. */
const mark = (kind: "good" | "bad" | "busy", text: string): string =>
  `<span class="mark ${kind}"><span aria-hidden="true">${{ good: "✓", bad: "✕", busy: "●" }[kind]}</span> ${shortText(text)}</span>`

const statusOf = ({ call }: CallTimeline): string => {
  const kind = call.ended_at === null ? "busy" : ["failed", "rejected"].includes(call.status) ? "bad" : "good"
  return mark(kind, call.ended_at === null ? `${call.status}, live` : call.status)
}

const headerOf = (timeline: CallTimeline, traceUrl: string | undefined): string => {
  const { call } = timeline
  const trace =
    traceUrl === undefined
      ? ""
      : `<a class="button" href="${html(traceUrl)}" target="_blank" rel="noopener noreferrer">Trace</a>`
  const curl = `curl -H "Authorization: Bearer $SVC_KEY" "$SVC_URL/v1/calls/${call.call_id}/timeline"`
  return `<header><h1>${shortText(call.from_number ?? "unknown number")} <span aria-hidden="true">→</span><span class="hidden"> to </span> ${shortText(call.to_number ?? "unknown number")} ${statusOf(timeline)}</h1>
<p class="id"><code>${html(call.call_id)}</code></p>
<p class="actions"><button type="button" data-copy="${html(call.call_id)}">Copy id</button><button type="button" data-copy="${html(curl)}">Copy curl line</button><button type="button" data-save="${html(call.call_id)}.yaml" data-text="${html(callScript(timeline))}">Save as script</button>${trace}<span class="faint" role="status" id="done"></span></p></header>`
}

const causeOf = ({ failure }: CallTimeline): string =>
  failure === null
    ? ""
    : `<section class="cause" aria-labelledby="cause"><h2 id="cause">Why it failed: ${html(failure.stage)}</h2><p class="reason">${shortText(failure.reason)}</p><p><strong>What to do:</strong> ${linkedText(failure.hint)}</p></section>`

const warningsOf = ({ left_out, warnings }: CallTimeline): string => {
  if (warnings.length === 0 && left_out.warnings === 0) return ""
  const rows = warnings.map(
    ({ at, reason, what }) =>
      `<li><time>${shortClock(at)}</time><div class="what"><strong>${shortText(what)}</strong> ${linkedText(reason)}</div></li>`
  )
  const more = left_out.warnings === 0 ? "" : `<p class="faint">and ${left_out.warnings} more</p>`
  return `<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><ol>${rows.join("")}</ol>${more}</section>`
}

function* transcriptOf({ call, left_out, turns }: CallTimeline): Generator<void, string> {
  const rows = yield* section(
    "Transcript",
    turns,
    limits.transcript,
    ({ ended_at, interrupted, role, stages, started_at, text }) => {
      const who = role === "user" ? "caller" : "agent"
      const until =
        ended_at === null ? "" : ` <span class="faint">${((ended_at - started_at) / 1000).toFixed(1)} s</span>`
      const wait = stages?.response_ms ?? null
      const notes = [
        ...(wait === null ? [] : [`answered after ${Math.round(wait)} ms`]),
        ...(interrupted ? ["interrupted"] : [])
      ]
      return `<li class="turn-${who}"><time>${shortClock(started_at)}</time><div class="what"><span class="who ${who}">${who}</span>${until}${notes.length === 0 ? "" : ` <span class="faint">${notes.join(", ")}</span>`}<br>${shortText(text)}</div></li>`
    },
    { rest: "GET /v1/calls/<id> has the whole transcript", list: true, leftOut: left_out.turns }
  )
  const nothing = call.ended_at === null ? "Nothing has been said yet." : "Nothing was said."
  return rows === ""
    ? `<section aria-labelledby="transcript"><h2 id="transcript">Transcript</h2><p class="faint">${nothing}</p></section>`
    : rows
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

const latenciesOf = ({ turns }: CallTimeline): Generator<void, string> => {
  const latencies = turns.flatMap(({ stages }) => (stages === null ? [] : [stages]))
  const sum = (stages: ReadonlyArray<number>) => stages.reduce((total, ms) => total + ms, 0)
  const longest = Math.max(1, ...latencies.slice(-limits.latencies.rows).map((latency) => sum(stagesOf(latency))))
  const key = stageNames
    .map(
      (name, i) =>
        `<span><svg aria-hidden="true"><rect class="s${i + 1}" width="100%" height="100%"/></svg> ${html(name)}</span>`
    )
    .join("")
  return section(
    "Latency",
    latencies,
    limits.latencies,
    (latency) => {
      const stages = stagesOf(latency)
      return `<div class="turn"><time>${shortClock(latency.ts * 1000)}</time>${bar(stages, longest)}<span>${Math.round(sum(stages))} ms</span></div>`
    },
    { intro: `<p class="key faint">${key}</p>`, rest: "GET /v1/calls/<id> has all of them", list: false }
  )
}

/** A body as indented JSON. A text that is not JSON, or was cut when it was stored, stays as it is. */
const bodyOf =
  (body: unknown) =>
  (limit: number): Beginning => {
    if (typeof body !== "string") return jsonBeginning(body, limit)
    try {
      return jsonBeginning(JSON.parse(body), limit)
    } catch {
      return { text: body.slice(0, limit), size: body.length }
    }
  }

/** A row that opens to its bodies. */
const opening = (
  id: string,
  summary: string,
  bodies: ReadonlyArray<readonly [string, unknown]>,
  room: BodyRoom
): string => {
  const shown = bodies.filter(([, body]) => body !== null)
  if (shown.length === 0) return summary
  const parts = shown.map(
    ([name, body]) => `${name === "" ? "" : `<h3>${html(name)}</h3>`}${bodyHtml(bodyOf(body), room)}`
  )
  return `<details id="${id}"><summary>${summary}</summary>${parts.join("")}</details>`
}

const row = (at: number, what: string): string =>
  `<li class="plain"><time>${clock(at)}</time><div class="what">${what}</div></li>`

const actorRow = (at: number, actor: string, what: string): string =>
  `<li><time>${clock(at)}</time><span class="who ${actor}">${actor}</span><div class="what">${what}</div></li>`

const toolsOf = ({ left_out, tools }: CallTimeline, room: BodyRoom): Generator<void, string> =>
  section(
    "Tools",
    tools,
    limits.tools,
    ({ arguments: args, ended_at, name, result, started_at, status }, index) => {
      const kind = status === "completed" ? "good" : status === "running" ? "busy" : "bad"
      const took = ended_at === null ? "" : ` in ${Math.round(ended_at - started_at)} ms`
      const summary = `<code>${shortText(name)}</code> ${mark(kind, `${status}${took}`)}`
      const bodies = [["arguments", args] as const, ["result", result] as const]
      return row(started_at, opening(`t${index + left_out.tools}`, summary, bodies, room))
    },
    { rest: "earlier tools are not shown", list: true, leftOut: left_out.tools }
  )

const serverRequestsOf = ({ left_out, server_requests }: CallTimeline, room: BodyRoom): Generator<void, string> =>
  section(
    "Requests to your server",
    server_requests,
    limits.serverRequests,
    ({ content_type, duration_ms, error, event, request, response, started_at, status }, index) => {
      const type = content_type === null ? "" : ` ${content_type}`
      const answer =
        status === null ? `${error ?? "no answer"}, after ${duration_ms} ms` : `${status}${type} in ${duration_ms} ms`
      const problem = status === null || error === null || error === `status ${status}` ? "" : `: ${shortText(error)}`
      const summary = `<code>${shortText(event)}</code> ${mark(error === null ? "good" : "bad", answer)}${problem}`
      const id = `x${index + left_out.server_requests}`
      return row(
        started_at,
        opening(
          id,
          summary,
          [
            ["request", request],
            ["answer", response]
          ],
          room
        )
      )
    },
    { rest: "earlier requests are not shown", list: true, leftOut: left_out.server_requests }
  )

const count = (n: number): string => n.toLocaleString("en-US")

/** What a request was given and gave, as far as its provider reports it. */
const amountOf = ({ characters, tokens }: TimelineProviderRequest): string => {
  if (characters !== null) return `, ${count(characters)} characters`
  if (tokens === null) return ""
  const cached = tokens.cached_input === 0 ? "" : ` (${count(tokens.cached_input)} cached)`
  return `, ${count(tokens.input)} tokens in${cached}, ${count(tokens.output)} out`
}

const providerRequestsOf = ({ call, left_out, provider_requests, turns }: CallTimeline): Generator<void, string> => {
  const isOver = call.ended_at !== null
  const texts = new Map(turns.map(({ index, text }) => [index, text]))
  /** The words of the turn, where its requests begin. */
  const heading = (turn: number | null, index: number): string => {
    const before = provider_requests[index - 1]?.turn ?? null
    if (before === turn) return ""
    const words = turn === null ? "" : (texts.get(turn) ?? "")
    const what =
      turn === null
        ? "For no turn that was heard"
        : `Turn ${turn}${words === "" ? "" : `: ${html(shortened(words, 80))}`}`
    return `<li class="plain"><span></span><strong>${what}</strong></li>`
  }
  return section(
    "Requests to providers",
    provider_requests,
    limits.providerRequests,
    (request, index) => {
      const { capability, ended_at, error, first_at, plugin, provider, started_at, turn } = request
      const kind = error !== null ? "bad" : ended_at === null && !isOver ? "busy" : "good"
      const first = first_at === null ? "" : `first output after ${Math.round(first_at - started_at)} ms, `
      const took = ended_at !== null ? `${Math.round(ended_at - started_at)} ms` : isOver ? "until the end" : "running"
      const fallback = provider === 0 ? "" : ` (fallback ${provider})`
      const name = plugin === null ? "" : ` <code>${html(plugin)}</code>`
      return `${heading(turn, index)}${row(
        started_at,
        `${capability}${name}${fallback} ${mark(kind, `${first}${took}`)}${amountOf(request)}${error === null ? "" : `: ${shortText(error)}`}`
      )}`
    },
    { rest: "earlier requests are not shown", list: true, leftOut: left_out.provider_requests }
  )
}

const webhooksOf = ({ left_out, webhooks }: CallTimeline): Generator<void, string> =>
  section(
    "Webhooks",
    webhooks,
    limits.webhooks,
    ({ at, attempt, error, event, status_code, success, url }) => {
      const again = attempt > 1 ? `, attempt ${attempt}` : ""
      const outcome = status_code === null ? (error ?? "no answer") : `${status_code}`
      const problem =
        success || error === null || status_code === null || error === `status ${status_code}`
          ? ""
          : `: ${shortText(error)}`
      return row(
        at,
        `<code>${html(event)}</code> to ${shortText(url.replace(/^https?:\/\//, ""))}${again} ${mark(success ? "good" : "bad", outcome)}${problem}`
      )
    },
    { rest: "GET /v1/calls/<id>/webhooks has all of them", list: true, leftOut: left_out.webhooks }
  )

const eventsOf = ({ events, left_out }: CallTimeline, room: BodyRoom): Generator<void, string> =>
  section(
    "Timeline",
    events,
    limits.events,
    ({ actor, at, data, what }, index) =>
      actorRow(at, actor, opening(`e${index + left_out.events}`, shortText(what), [["", data]], room)),
    { rest: "earlier entries are not shown", list: true, leftOut: left_out.events }
  )

const playerOf = ({ call }: CallTimeline, path: string): string =>
  call.has_recording
    ? `<section aria-labelledby="recording"><h2 id="recording">Recording</h2><audio controls preload="metadata" src="${html(path)}/recording.mp3"></audio></section>`
    : ""

const scopeNote = `<p class="faint">Prompts and bodies are not shown: a read key made this link. Get one with a full key to see them.</p>`

/** In place of the content, when the link ends while its page is open. */
export const endedLink = `<p class="bad">This link has ended: it was revoked, the call is too old, or its project was deleted. Ask for a new one: GET /v1/calls/&lt;id&gt;/debug-link.</p>`

const insideString = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * Renders the content of a page. Yields after each row of it. The newest bodies get the room, so the sections that matter
 * most are made first.
 */
export function* rendering({ scope, timeline, traceUrl }: ShownCall): Generator<void, RenderedCall> {
  const room = { left: limits.bodies }
  const requests = yield* serverRequestsOf(timeline, room)
  const tools = yield* toolsOf(timeline, room)
  const events = yield* eventsOf(timeline, room)
  const top = [
    headerOf(timeline, traceUrl),
    scope === "full" ? "" : scopeNote,
    causeOf(timeline),
    warningsOf(timeline),
    `<div class="columns"><div>${yield* transcriptOf(timeline)}</div><div>${factsOf(timeline)}${settingsOf(timeline)}`
  ].join("")
  const sections = [
    "</div></div>",
    yield* latenciesOf(timeline),
    tools,
    requests,
    yield* providerRequestsOf(timeline),
    yield* webhooksOf(timeline),
    events
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
  timeline: CallTimeline,
  path: string
): { readonly html: string; readonly json: string } => {
  const player = playerOf(timeline, path)
  return { html: top + player + rest, json: `"${json.top}${insideString(player)}${json.rest}"` }
}

/** The whole page. */
export const page = (content: RenderedCall, timeline: CallTimeline, path: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${html(timeline.call.call_id)}</title><style>${style}</style></head>
<body><p id="notice" class="bad" role="alert" hidden></p><main data-live="${timeline.call.ended_at === null ? "yes" : "no"}">${withPlayer(content, timeline, path).html}</main><script>${script}</script></body></html>
`
