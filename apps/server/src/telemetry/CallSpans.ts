import type { TimelineServerRequest, TimelineTurn } from "@svc/api/calls/CallTimeline"
import type { RecordedSources } from "@svc/call-engine/record/Timelines"
import type { CalledTool, ProviderRequest } from "@svc/conversation/CallTimeline"
import { shortened } from "@svc/conversation/Shortened"
import { rootSpanIdOf, spanIdOf, traceIdOf } from "./TraceIds.ts"

export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>

/** One span. Times are Unix milliseconds. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** Undefined for the call itself. */
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: "internal" | "server" | "client"
  readonly start: number
  readonly end: number
  /** Those that are null or undefined are left out. */
  readonly attributes: Attributes
  readonly events: ReadonlyArray<{ readonly name: string; readonly at: number; readonly attributes: Attributes }>
  /** Why it failed, or null. */
  readonly error: string | null
}

/** The most characters of an error. */
const maxError = 600

const errorOf = (error: string | null): string | null => (error === null ? null : shortened(error, maxError))

/** The id in the body of a `tool.call`. It comes first in the body, so it is also in the beginning of a long one. */
const toolCallIdOf = ({ event, request }: TimelineServerRequest): string | undefined =>
  event === "tool.call" && request !== null ? /"tool_call_id":"([^"\\]+)"/.exec(request)?.[1] : undefined

/**
 * The spans, each from the beginning of the first to the end of the last below it: a turn of the agent begins with the first
 * request for it, which is before its first sound; and clocks that are read apart differ by a millisecond.
 */
const widened = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const times = new Map(spans.map(({ end, spanId, start }) => [spanId, { start, end }]))
  const parents = new Map(spans.map(({ parentSpanId, spanId }) => [spanId, parentSpanId]))
  for (const { end, parentSpanId, start } of spans) {
    for (let id = parentSpanId; id !== undefined; id = parents.get(id)) {
      const parent = times.get(id)
      if (parent !== undefined) times.set(id, { start: Math.min(parent.start, start), end: Math.max(parent.end, end) })
    }
  }
  return spans.map((span) => ({ ...span, ...times.get(span.spanId) }))
}

/**
 * The spans of a call that is over: the call, its turns, the requests to providers, tools and the requests to the agent's
 * server. They have no words, no numbers of telephones, no prompts and no bodies.
 */
export const spansOf = ({ call, journal, pluginOf, serverRequests }: RecordedSources): ReadonlyArray<Span> => {
  const traceId = traceIdOf(call.call_id)
  const root = rootSpanIdOf(call.call_id)
  const began = Date.parse(call.started_at)
  const requests = journal?.provider_requests.entries ?? []
  const tools = journal?.tools.entries ?? []
  const turns = journal?.turns.entries ?? []
  // What runs on after the call's end, as an extraction does, is a part of it.
  const over = Math.max(
    Date.parse(call.ended_at ?? call.started_at) - began,
    ...[...requests, ...tools, ...turns].map(({ ended_at, started_at }) => ended_at ?? started_at),
    ...serverRequests.map(({ duration_ms, started_at }) => started_at - began + duration_ms)
  )

  const span = (
    part: string,
    { ended_at, started_at }: { readonly started_at: number; readonly ended_at: number | null },
    rest: Pick<Span, "name" | "attributes"> & Partial<Pick<Span, "parentSpanId" | "kind" | "events" | "error">>
  ): Span => ({
    traceId,
    spanId: spanIdOf(call.call_id, part),
    parentSpanId: root,
    kind: "internal",
    start: began + started_at,
    end: began + Math.max(started_at, ended_at ?? over),
    events: [],
    error: null,
    ...rest
  })

  const turnId = (index: number) => spanIdOf(call.call_id, `turn ${index}`)
  const shown = new Set(turns.map(({ index }) => index))
  const parentOf = ({ turn }: { readonly turn: number | null }) =>
    turn !== null && shown.has(turn) ? turnId(turn) : root
  const toolId = (id: string) => spanIdOf(call.call_id, `tool ${id}`)
  const toolIds = new Set(tools.map(({ id }) => id))

  const ofTurn = (turn: TimelineTurn): Span => {
    const { interrupted, role, stages } = turn
    return span(
      `turn ${turn.index}`,
      { started_at: turn.started_at, ended_at: turn.ended_at ?? turn.started_at },
      {
        name: role === "user" ? "caller's turn" : "agent's turn",
        attributes: {
          "svc.turn.index": turn.index,
          "svc.turn.role": role,
          "svc.turn.interrupted": interrupted,
          "svc.turn.endpointing_ms": stages?.endpointing_ms,
          "svc.turn.response_ms": stages?.response_ms,
          "svc.turn.platform_ms": stages?.platform_ms,
          "svc.turn.llm_ttfb_ms": stages?.llm_ttfb_ms,
          "svc.turn.tts_ttfb_ms": stages?.tts_ttfb_ms
        },
        events: role === "user" ? [] : [{ name: "first sound", at: began + turn.started_at, attributes: {} }]
      }
    )
  }

  const ofRequest = (request: ProviderRequest, index: number): Span => {
    const { capability, characters, error, first_at, model, provider, started_at, tokens } = request
    const plugin = pluginOf(request)
    return span(`${capability} ${(journal?.provider_requests.leftOut ?? 0) + index}`, request, {
      name: `${capability} ${plugin ?? provider}`,
      parentSpanId: parentOf(request),
      kind: "client",
      error: errorOf(error),
      attributes: {
        "svc.capability": capability,
        "svc.plugin": plugin,
        "svc.provider": provider,
        "svc.first_output_ms": first_at === null ? null : first_at - started_at,
        "svc.characters": characters,
        "gen_ai.operation.name": capability === "language-model" ? "chat" : null,
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": tokens?.input,
        "gen_ai.usage.cache_read.input_tokens": tokens?.cached_input,
        "gen_ai.usage.output_tokens": tokens?.output
      },
      events: first_at === null ? [] : [{ name: "first output", at: began + first_at, attributes: {} }]
    })
  }

  const ofTool = (tool: CalledTool): Span =>
    span(`tool ${tool.id}`, tool, {
      name: `tool ${tool.name}`,
      parentSpanId: parentOf(tool),
      error: tool.status === "failed" || tool.status === "timeout" ? tool.status : null,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": tool.id,
        "svc.tool.status": tool.status
      }
    })

  const ofServer = (request: TimelineServerRequest, index: number): Span => {
    const { duration_ms, error, event, started_at, status } = request
    const tool = toolCallIdOf(request)
    return span(
      `server ${index}`,
      { started_at: started_at - began, ended_at: started_at - began + duration_ms },
      {
        name: `POST ${event}`,
        parentSpanId: tool !== undefined && toolIds.has(tool) ? toolId(tool) : root,
        kind: "client",
        error: errorOf(error),
        attributes: {
          "svc.server.event": event,
          "http.request.method": "POST",
          "http.response.status_code": status
        }
      }
    )
  }

  const { failure, line, usage } = call
  const leftOut =
    (journal?.turns.leftOut ?? 0) + (journal?.provider_requests.leftOut ?? 0) + (journal?.tools.leftOut ?? 0)
  const whole: Span = {
    ...span(
      "call",
      { started_at: 0, ended_at: over },
      {
        name: "call",
        kind: "server",
        error: failure === null ? null : errorOf(`${failure.stage}: ${failure.reason}`),
        attributes: {
          "svc.call.id": call.call_id,
          "svc.agent.id": call.agent_id,
          "svc.call.direction": journal?.state.facts.outbound === undefined ? "inbound" : "outbound",
          "svc.call.status": call.status,
          "svc.call.disposition": call.disposition,
          "svc.call.ended_reason": call.ended_reason,
          "svc.call.duration_seconds": call.duration_seconds,
          "svc.telephony": line.telephony,
          "svc.line.codec": line.codec,
          "svc.line.packets_lost": line.packets_lost,
          "svc.line.packets_late": line.packets_late,
          "gen_ai.usage.input_tokens": usage?.llm.input_tokens,
          "gen_ai.usage.output_tokens": usage?.llm.output_tokens,
          "svc.left_out": leftOut === 0 ? null : leftOut
        },
        events: call.warnings.map(({ at, what }) => ({
          name: "warning",
          at: began + at * 1000,
          attributes: { "svc.warning": what }
        }))
      }
    ),
    parentSpanId: undefined
  }
  return widened([
    whole,
    ...turns.map(ofTurn),
    ...requests.map(ofRequest),
    ...tools.map(ofTool),
    ...serverRequests.map(ofServer)
  ])
}
