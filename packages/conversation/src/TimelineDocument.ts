import type { AppliedSettings } from "@svc/api/calls/AppliedSettings"
import type { CallSummary, TranscriptTurn } from "@svc/api/calls/Call"
import { type CallFailure, type CallWarning, maxCallWarnings } from "@svc/api/calls/CallFailure"
import type { CallTimeline, TimelineServerRequest, TimelineTurn, TimelineWebhook } from "@svc/api/calls/CallTimeline"
import { type CallLine, type CallUsage, noUsage } from "@svc/api/calls/CallUsage"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { callSettings } from "./answers/CallSettings.ts"
import { type BodyRoom, boundedBody } from "./BoundedJson.ts"
import { recordOf } from "./CallRecord.ts"
import type { JournalTimeline, ProviderRequest } from "./CallTimeline.ts"
import { shortened } from "./Shortened.ts"
import type { Conversation } from "./State.ts"

/** What a timeline is made of. */
export interface TimelineSources {
  /** As stored; for a live call, counts and metadata come from the journal. */
  readonly call: CallSummary & {
    readonly transcript: ReadonlyArray<TranscriptTurn>
    readonly failure: CallFailure | null
    readonly warnings: ReadonlyArray<CallWarning>
    readonly warnings_dropped: number
    readonly usage: CallUsage | null
    readonly line: CallLine
    readonly llm_cost: number
  }
  /** Undefined for a call without a journal: one that was refused, or is too old. */
  readonly journal: JournalTimeline | undefined
  /** The short name of the plugin to which a request went; null when it is not known. */
  readonly pluginOf: (request: ProviderRequest) => string | null
  /** Oldest first; `started_at` in Unix milliseconds. */
  readonly serverRequests: ReadonlyArray<TimelineServerRequest>
  /** How many older ones there were. */
  readonly serverRequestsLeftOut: number
  /** Oldest first. */
  readonly deliveries: ReadonlyArray<DeliveryRecord>
}

/** The most deliveries of a timeline, and the most characters: of one text, of all texts, and of all bodies. */
const limits = { webhooks: 100, text: 10_000, texts: 300_000, bodies: 150_000 } as const

/** The newest entries whose texts fit, oldest first. */
const fitting = <A>(entries: ReadonlyArray<A>, room: BodyRoom, sizeOf: (entry: A) => number): ReadonlyArray<A> => {
  let from = entries.length
  for (; from > 0; from--) {
    const entry = entries[from - 1]
    if (entry !== undefined) room.left -= sizeOf(entry)
    if (room.left < 0) break
  }
  return entries.slice(from)
}

/** Makes each entry, the newest first, so that they get the room for bodies. */
const newestFirst = <A, B>(entries: ReadonlyArray<A>, make: (entry: A) => B): ReadonlyArray<B> =>
  entries.toReversed().map(make).reverse()

/** Host and path of a URL, without what may be secret. */
const withoutQuery = (url: string): string => {
  const { host, pathname, protocol } = new URL(url)
  return shortened(`${protocol}//${host}${pathname}`, 300)
}

const storedTurn = ({ content, role, timestamp }: TranscriptTurn, index: number): TimelineTurn => ({
  index,
  role,
  text: content,
  started_at: Math.round(timestamp * 1000),
  ended_at: null,
  interrupted: false,
  stages: null
})

const otherVersion: CallWarning = {
  at: 0,
  what: "server",
  reason: "This call was held by another version of Svc; the timeline is how this one reads it."
}

/** The names of the settings, to find what was left out of them. */
const settingNames: ReadonlyArray<string> = Object.keys(callSettings)

/** The settings that apply to a call. */
const settingsOf = ({ config }: Conversation): AppliedSettings | null => {
  if (config === null) return null
  const { first_message_interruptible, language, languages, model, platform_tools } = config
  const { silence_prompts, speech, turn_taking, voice, warnings } = config
  return {
    language,
    voice,
    turn_taking,
    first_message_interruptible,
    silence_prompts,
    model,
    speech,
    platform_tools,
    languages,
    left_out: warnings.filter(({ field }) => settingNames.includes(field.split(".")[0] ?? ""))
  }
}

/** The timeline of a call, of limited size whatever the length of the call. Without bodies for a `read` key. */
export const documentOf = (
  { call: stored, deliveries, journal, pluginOf, serverRequests, serverRequestsLeftOut }: TimelineSources,
  scope: "full" | "read"
): CallTimeline => {
  const { failure, line, llm_cost, transcript, usage, warnings, warnings_dropped, ...summary } = stored
  const startedAt = Date.parse(summary.started_at)
  const live = summary.ended_at === null && journal !== undefined ? recordOf(journal.state) : undefined
  const texts = { left: limits.texts }
  const bodies = { left: scope === "full" ? limits.bodies : 0 }
  const body = (value: unknown): unknown => boundedBody(value, bodies)

  const allTurns = journal?.turns.entries ?? transcript.map(storedTurn)
  const turns = fitting(allTurns, texts, ({ text }) => Math.min(text.length, limits.text)).map((turn) => ({
    ...turn,
    text: shortened(turn.text, limits.text)
  }))
  const webhooks = fitting(
    deliveries.slice(-limits.webhooks),
    texts,
    ({ error, url }) => url.length + (error?.length ?? 0)
  )
  const text = (value: string | null): string | null => {
    if (value === null || bodies.left <= 0) return null
    bodies.left -= value.length
    return value
  }
  const requests = newestFirst(serverRequests, ({ request, response, ...rest }) => ({
    ...rest,
    started_at: rest.started_at - startedAt,
    error: rest.error === null ? null : shortened(rest.error, 600),
    response: text(response),
    request: text(request)
  }))
  const tools = newestFirst(journal?.tools.entries ?? [], ({ turn: _, ...tool }) => {
    const isLost = tool.status === "running" && summary.ended_at !== null
    return {
      ...tool,
      ...(isLost ? { status: "failed" as const } : {}),
      result: body(tool.result),
      arguments: body(tool.arguments)
    }
  })
  const events = newestFirst(
    fitting(journal?.events.entries ?? [], texts, ({ what }) => Math.min(what.length, 1000)),
    (event) => ({ ...event, what: shortened(event.what, 1000), data: body(event.data) })
  )
  const known = [...(journal?.isFromOtherVersion === true ? [otherVersion] : []), ...(live?.warnings ?? warnings)]
  return {
    version: 1,
    call:
      live === undefined
        ? summary
        : {
            ...summary,
            turn_count: live.turn_count,
            tool_call_count: live.tool_call_count,
            tools_called: live.tools_called,
            metadata: live.metadata
          },
    turns,
    tools,
    server_requests: requests,
    provider_requests: (journal?.provider_requests.entries ?? []).map((request) => ({
      capability: request.capability,
      provider: request.provider,
      plugin: pluginOf(request),
      turn: request.turn,
      started_at: request.started_at,
      first_at: request.first_at,
      ended_at: request.ended_at,
      error: request.error === null ? null : shortened(request.error, 600),
      tokens: request.tokens,
      characters: request.characters
    })),
    webhooks: webhooks.map(
      ({ attempt, created_at, error, event, event_id, status_code, success, url }): TimelineWebhook => ({
        event,
        event_id,
        url: withoutQuery(url),
        attempt,
        at: Date.parse(created_at) - startedAt,
        status_code,
        success,
        error
      })
    ),
    events,
    warnings: known.slice(0, maxCallWarnings).map((warning) => ({ ...warning, at: Math.round(warning.at * 1000) })),
    failure,
    line: live === undefined ? line : { telephony: line.telephony, ...live.line },
    usage: live?.usage ?? usage ?? (summary.ended_at === null ? noUsage : null),
    settings: journal === undefined ? null : settingsOf(journal.state),
    cost: {
      minutes_used: summary.minutes_used,
      rate_per_minute: summary.rate_per_minute,
      call_cost: summary.call_cost,
      recording_cost: summary.recording_cost,
      transfer_cost: summary.transfer_cost,
      llm_cost,
      llm_discount: summary.llm_discount,
      total_cost: summary.total_cost
    },
    left_out: {
      turns: (journal?.turns.leftOut ?? 0) + allTurns.length - turns.length,
      tools: journal?.tools.leftOut ?? 0,
      server_requests: serverRequestsLeftOut,
      provider_requests: journal?.provider_requests.leftOut ?? 0,
      webhooks: deliveries.length - webhooks.length,
      events: (journal?.events.leftOut ?? 0) + (journal?.events.entries.length ?? 0) - events.length,
      warnings: (live?.warnings_dropped ?? warnings_dropped) + Math.max(0, known.length - maxCallWarnings)
    }
  }
}
