import type { TimelineEvent, TimelineProviderRequest, TimelineTool, TimelineTurn } from "@svc/api/calls/CallTimeline"
import type { Command } from "./Command.ts"
import { start, step } from "./Conversation.ts"
import type { Facts, Input } from "./Input.ts"
import { digest, type RecordedInput } from "./Replay.ts"
import type { AgentEntry, Conversation } from "./State.ts"
import { entriesOf } from "./TimelineEntries.ts"

/** The most entries that a timeline keeps of each kind: the newest. */
export const timelineLimits = { turns: 400, tools: 100, provider_requests: 120, events: 250 } as const

/** The newest entries of a list, and how many there were. */
export class Newest<A> {
  readonly #limit: number
  #kept: Array<A> = []
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(entry: A): void {
    this.#count++
    this.#kept.push(entry)
    if (this.#kept.length >= 2 * this.#limit) this.#kept = this.#kept.slice(-this.#limit)
  }

  get entries(): ReadonlyArray<A> {
    return this.#kept.slice(-this.#limit)
  }

  get leftOut(): number {
    return Math.max(0, this.#count - this.#limit)
  }
}

/** The part of a call's timeline that comes from its journal. */
export interface JournalTimeline {
  readonly state: Conversation
  readonly turns: Newest<TimelineTurn>
  readonly tools: Newest<TimelineTool>
  readonly provider_requests: Newest<TimelineProviderRequest>
  readonly events: Newest<TimelineEvent>
  /** The call ran on another version: its commands may have differed from those shown. */
  readonly isFromOtherVersion: boolean
}

type Open<A> = { -readonly [K in keyof A]: A[K] }

const timeOf = (input: Facts | Input): number => (input._tag === "Facts" ? 0 : input.at)

/** Commands with the whole conversation: their digests would take most of the time. */
const isLong = ({ _tag }: Command): boolean =>
  _tag === "AskModel" || _tag === "AskAhead" || _tag === "Extract" || _tag === "Summarize"

/** The step of a row; undefined for one before the call's facts, and for facts that are repeated. */
const next = (before: Conversation | undefined, input: Facts | Input) => {
  if (input._tag === "Facts") return before === undefined ? start(input) : undefined
  return before === undefined ? undefined : step(before, input)
}

/**
 * Makes the timeline of a call from its journal, row by row, so that a long journal can be read in steps and a live one
 * as it grows. The same rows give the same timeline.
 */
export class TimelineBuilder {
  #state: Conversation | undefined
  readonly #turns = new Newest<TimelineTurn>(timelineLimits.turns)
  readonly #tools = new Newest<Open<TimelineTool>>(timelineLimits.tools)
  readonly #requests = new Newest<Open<TimelineProviderRequest>>(timelineLimits.provider_requests)
  readonly #events = new Newest<TimelineEvent>(timelineLimits.events)
  /** Tools and requests that have not ended. */
  readonly #openTools = new Map<string, Open<TimelineTool>>()
  readonly #openSpeech = new Map<string, Open<TimelineProviderRequest>>()
  #model: Open<TimelineProviderRequest> | undefined
  /** The request whose answer is held. */
  #ahead: Open<TimelineProviderRequest> | undefined
  #listening: Open<TimelineProviderRequest> | undefined
  #differs = false
  #seq = -1

  /** The `seq` of the last row; -1 without one. */
  get seq(): number {
    return this.#seq
  }

  /** Adds the next row. Rows before the call's facts are ignored. */
  add({ commands: recorded, input, seq }: RecordedInput): void {
    this.#seq = seq
    const before = this.#state
    const result = next(before, input)
    if (result === undefined) return
    const [state, commands] = result
    this.#state = state
    if (!commands.some(isLong) && digest(commands) !== recorded) this.#differs = true
    const at = timeOf(input)
    this.#onInput(at, input)
    for (const command of commands) this.#onCommand(at, command)
    for (const entry of entriesOf(at, input, commands)) this.#events.add(entry)
    if (before !== undefined) this.#addTurns(before, state)
  }

  /** What the rows so far say; undefined before the call's facts. */
  timeline(): JournalTimeline | undefined {
    if (this.#state === undefined) return undefined
    return {
      state: this.#state,
      turns: this.#turns,
      tools: this.#tools,
      provider_requests: this.#requests,
      events: this.#events,
      isFromOtherVersion: this.#differs
    }
  }

  #addTurns(before: Conversation, { entries, latencies, transcript }: Conversation): void {
    if (transcript.length === before.transcript.length) return
    const wasClosed = new Set(before.entries.flatMap((e) => (e.kind === "agent" && e.closed ? [e.turn] : [])))
    const closed = entries.filter((e): e is AgentEntry => e.kind === "agent" && e.closed && !wasClosed.has(e.turn))
    for (const [offset, { content, role, timestamp }] of transcript.slice(before.transcript.length).entries()) {
      const started_at = Math.round(timestamp * 1000)
      const entry =
        role === "user"
          ? undefined
          : closed.find((e) => Math.round(e.spoken_at ?? started_at) === Math.round(started_at))
      const ended_at = role === "user" ? Math.max(started_at, before.caller.until) : (entry?.quiet_at ?? null)
      this.#turns.add({
        index: before.transcript.length + offset,
        role,
        text: content,
        started_at,
        ended_at,
        interrupted: entry?.interrupted ?? false,
        stages: entry === undefined ? null : (latencies.findLast(({ turn }) => turn === entry.turn) ?? null)
      })
    }
  }

  #onInput(at: number, input: Facts | Input): void {
    switch (input._tag) {
      case "ModelStarted":
        if (this.#model !== undefined) this.#model.first_at ??= at
        return
      case "ModelDone":
      case "Extracted":
        this.#endModel(at, null)
        return
      case "ModelFailed":
      case "ExtractionFailed":
        this.#endModel(at, input.reason)
        return
      case "CallerPartial":
      case "CallerFinal":
        if (this.#listening !== undefined) this.#listening.first_at ??= at
        return
      case "RecognizerFailed":
      case "RecognizerFinished":
        this.#endListening(at, input._tag === "RecognizerFailed" ? input.reason : null)
        return
      case "SpeechStarted": {
        const speech = this.#openSpeech.get(input.id)
        if (speech !== undefined) speech.first_at = input.voice?.audio_at ?? at
        return
      }
      case "SpeechPlayed":
        this.#endSpeech(input.id, at, null)
        return
      case "SpeechFailed":
        this.#endSpeech(input.id, at, input.reason)
        return
      case "SpeechCleared":
        for (const id of [...this.#openSpeech.keys()]) this.#endSpeech(id, at, null)
        return
      case "ToolFailed": {
        const tool = this.#openTools.get(input.id)
        if (tool !== undefined) tool.status = "failed"
        return
      }
    }
  }

  #onCommand(at: number, command: Command): void {
    switch (command._tag) {
      case "AskModel":
      case "Extract": {
        this.#endModel(at, null)
        const request: { readonly ahead?: string; readonly provider?: number } =
          command._tag === "AskModel" ? command : {}
        this.#model = this.#takeAhead(request) ?? this.#request("language-model", at, request.provider)
        return
      }
      case "AskAhead":
        this.#ahead = this.#request("language-model", at, command.provider)
        return
      case "DropAhead":
        if (this.#ahead !== undefined) this.#ahead.ended_at = at
        this.#ahead = undefined
        return
      case "CancelModel":
        this.#endModel(at, null)
        return
      case "Speak":
        this.#openSpeech.set(command.id, this.#request("text-to-speech", at, command.provider))
        return
      case "Listen":
        this.#endListening(at, null)
        this.#listening = this.#request("speech-to-text", at, command.provider)
        return
      case "CancelTool": {
        // A tool that timed out says so in its event, which follows.
        const tool = this.#openTools.get(command.id)
        if (tool !== undefined) Object.assign(tool, { ended_at: at, status: "failed" })
        return
      }
      case "Emit":
        this.#onEvent(command)
        return
    }
  }

  #onEvent({ at, data, event }: Extract<Command, { readonly _tag: "Emit" }>): void {
    switch (event) {
      case "tool.invoked": {
        const tool: Open<TimelineTool> = {
          id: data.tool_call_id,
          name: data.tool_name,
          started_at: at,
          ended_at: null,
          status: "running",
          arguments: data.arguments,
          result: null
        }
        this.#openTools.set(tool.id, tool)
        this.#tools.add(tool)
        return
      }
      case "tool.completed":
      case "tool.timeout": {
        const tool = this.#openTools.get(data.tool_call_id)
        if (tool === undefined) return
        this.#openTools.delete(tool.id)
        tool.ended_at = at
        if (event === "tool.timeout") tool.status = "timeout"
        else {
          if (tool.status === "running") tool.status = "completed"
          tool.result = data.result
        }
        return
      }
    }
  }

  #request(capability: TimelineProviderRequest["capability"], at: number, provider = 0): Open<TimelineProviderRequest> {
    const request = { capability, provider, started_at: at, first_at: null, ended_at: null, error: null }
    this.#requests.add(request)
    return request
  }

  /** The request that is adopted. */
  #takeAhead({ ahead }: { readonly ahead?: string }): Open<TimelineProviderRequest> | undefined {
    if (ahead === undefined) return undefined
    const request = this.#ahead
    this.#ahead = undefined
    return request
  }

  #endModel(at: number, error: string | null): void {
    if (this.#model !== undefined) Object.assign(this.#model, { ended_at: at, error })
    this.#model = undefined
  }

  #endListening(at: number, error: string | null): void {
    if (this.#listening !== undefined) Object.assign(this.#listening, { ended_at: at, error })
    this.#listening = undefined
  }

  #endSpeech(id: string, at: number, error: string | null): void {
    const speech = this.#openSpeech.get(id)
    if (speech !== undefined) Object.assign(speech, { ended_at: at, error })
    this.#openSpeech.delete(id)
  }
}

/** The timeline of a whole journal; undefined when it does not begin with the call's facts. */
export const timelineOf = (rows: ReadonlyArray<RecordedInput>): JournalTimeline | undefined => {
  const builder = new TimelineBuilder()
  for (const row of rows) builder.add(row)
  return builder.timeline()
}
