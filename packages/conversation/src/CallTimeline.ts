import type { TimelineEvent, TimelineProviderRequest, TimelineTool, TimelineTurn } from "@svc/api/calls/CallTimeline"
import type { Command } from "./Command.ts"
import { start, step } from "./Conversation.ts"
import type { AgentEntry } from "./Entries.ts"
import type { Facts, Input, InputOf } from "./Input.ts"
import { digest, type RecordedInput } from "./Replay.ts"
import type { Conversation } from "./State.ts"
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

/** A request to a provider, with what its plugin was chosen by. */
export interface ProviderRequest extends Omit<TimelineProviderRequest, "plugin"> {
  /** The model or voice that was asked for by name, and the language that is spoken; absent: none. */
  readonly model?: string
  readonly voice?: string
  readonly language?: string
}

/** A tool that the model called, with the turn of its request; null as in TimelineProviderRequest. */
export interface CalledTool extends TimelineTool {
  readonly turn: number | null
}

/** The part of a call's timeline that comes from its journal. */
export interface JournalTimeline {
  readonly state: Conversation
  readonly turns: Newest<TimelineTurn>
  readonly tools: Newest<CalledTool>
  readonly provider_requests: Newest<ProviderRequest>
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
  readonly #tools = new Newest<Open<CalledTool>>(timelineLimits.tools)
  readonly #requests = new Newest<Open<ProviderRequest>>(timelineLimits.provider_requests)
  readonly #events = new Newest<TimelineEvent>(timelineLimits.events)
  /** Tools and requests that have not ended. */
  readonly #openTools = new Map<string, Open<CalledTool>>()
  readonly #openSpeech = new Map<string, Open<ProviderRequest>>()
  /** Requests and tools of turns that are not complete, by the turn's number in the conversation. */
  readonly #ofTurn = new Map<number, Array<{ turn: number | null }>>()
  #model: Open<ProviderRequest> | undefined
  /** The last one that was sent: the tokens that come are of it. */
  #lastModel: Open<ProviderRequest> | undefined
  /** The request whose answer is held. */
  #ahead: Open<ProviderRequest> | undefined
  #listening: Open<ProviderRequest> | undefined
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
      const index = before.transcript.length + offset
      const started_at = Math.round(timestamp * 1000)
      const entry =
        role === "user"
          ? undefined
          : closed.find((e) => Math.round(e.spoken_at ?? started_at) === Math.round(started_at))
      const ended_at = role === "user" ? Math.max(started_at, before.caller.until) : (entry?.quiet_at ?? null)
      if (entry !== undefined) this.#complete(entry.turn, index)
      this.#turns.add({
        index,
        role,
        text: content,
        started_at,
        ended_at,
        interrupted: entry?.interrupted ?? false,
        stages: entry === undefined ? null : (latencies.findLast(({ turn }) => turn === entry.turn) ?? null)
      })
    }
  }

  /** A turn is in the transcript: what was for it has its index, and what was for the tools before it, without words. */
  #complete(spoken: number, index: number): void {
    for (const [turn, parts] of this.#ofTurn) {
      if (turn > spoken) continue
      this.#ofTurn.delete(turn)
      const isRound = this.#turnWith((entry) => entry.turn === turn && entry.tools.length > 0) !== undefined
      if (turn === spoken || isRound) for (const one of parts) one.turn = index
    }
  }

  /** Notes to which of the conversation's turns it belongs. */
  #belongs(one: { turn: number | null }, turn: number | undefined): void {
    if (turn === undefined) return
    const others = this.#ofTurn.get(turn)
    if (others === undefined) this.#ofTurn.set(turn, [one])
    else others.push(one)
  }

  /** The number of the agent's turn of which this is true. */
  #turnWith(is: (entry: AgentEntry) => boolean): number | undefined {
    return this.#state?.entries.findLast((e): e is AgentEntry => e.kind === "agent" && is(e))?.turn
  }

  #addTokens(request: Open<ProviderRequest>, used: InputOf<"ModelUsed">): void {
    const { cached_input, input, output } = request.tokens ?? { cached_input: 0, input: 0, output: 0 }
    request.tokens = {
      input: input + used.input_tokens,
      cached_input: cached_input + used.cached_input_tokens,
      output: output + used.output_tokens
    }
  }

  #onInput(at: number, input: Facts | Input): void {
    switch (input._tag) {
      case "ModelStarted":
        if (this.#model !== undefined) this.#model.first_at ??= at
        return
      case "ModelUsed":
        if (this.#lastModel !== undefined && input.of === undefined) this.#addTokens(this.#lastModel, input)
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
        const request = command._tag === "AskModel" ? command : {}
        this.#model = this.#takeAhead(request) ?? this.#askModel(at, request)
        if (command._tag === "AskModel") this.#belongs(this.#model, command.turn)
        return
      }
      case "AskAhead":
        this.#ahead = this.#askModel(at, command)
        return
      case "DropAhead":
        if (this.#ahead !== undefined) this.#ahead.ended_at = at
        this.#ahead = undefined
        return
      case "CancelModel":
        this.#endModel(at, null)
        return
      case "Speak": {
        const { id, language, provider, text, voice } = command
        const speech = this.#request("text-to-speech", at, { provider, characters: text.length, language, voice })
        this.#openSpeech.set(id, speech)
        this.#belongs(
          speech,
          this.#turnWith(({ utterances }) => utterances.some((one) => one.id === id))
        )
        return
      }
      case "Listen":
        this.#endListening(at, null)
        this.#listening = this.#request("speech-to-text", at, {
          provider: command.provider,
          language: command.language
        })
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
        const tool: Open<CalledTool> = {
          id: data.tool_call_id,
          name: data.tool_name,
          turn: null,
          started_at: at,
          ended_at: null,
          status: "running",
          arguments: data.arguments,
          result: null
        }
        this.#openTools.set(tool.id, tool)
        this.#belongs(
          tool,
          this.#turnWith(({ tools }) => tools.some(({ id }) => id === tool.id))
        )
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

  #request(
    capability: ProviderRequest["capability"],
    at: number,
    {
      characters = null,
      provider = 0,
      ...choice
    }: Pick<ProviderRequest, "model" | "voice" | "language"> & {
      readonly provider?: number | undefined
      readonly characters?: number | null
    }
  ): Open<ProviderRequest> {
    const request: Open<ProviderRequest> = {
      capability,
      provider,
      ...choice,
      turn: null,
      started_at: at,
      first_at: null,
      ended_at: null,
      error: null,
      tokens: null,
      characters
    }
    this.#requests.add(request)
    return request
  }

  #askModel(
    at: number,
    { model, provider }: { readonly model?: string; readonly provider?: number }
  ): Open<ProviderRequest> {
    this.#lastModel = this.#request("language-model", at, { provider, ...(model === undefined ? {} : { model }) })
    return this.#lastModel
  }

  /** The request that is adopted. */
  #takeAhead({ ahead }: { readonly ahead?: string }): Open<ProviderRequest> | undefined {
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
