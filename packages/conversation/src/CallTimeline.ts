import type { TranscriptTurn, TurnLatency } from "@svc/api/calls/Call"
import { atOnce } from "@svc/api/Thread"
import type { Command } from "./Command.ts"
import type { Facts, Input } from "./Input.ts"
import { isLate, lateReason } from "./machines/Knowledge.ts"
import { type RecordedInput, type Replayed, replaying } from "./Replay.ts"

/** The actor of a timeline entry. */
export type Actor = "call" | "caller" | "agent" | "model" | "tool" | "knowledge" | "server" | "event"

/** One event of a call, for people. */
export interface TimelineEntry {
  /** Milliseconds since the call's start. */
  readonly at: number
  readonly actor: Actor
  readonly what: string
  /** Details, as JSON. */
  readonly detail?: unknown
}

/** The timeline of a call, derived from its journal. */
export interface CallTimeline {
  readonly lines: ReadonlyArray<TimelineEntry>
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latencies: ReadonlyArray<TurnLatency>
  /** Fields of the agent's configuration and look-ups in its knowledge that were left out, and why. */
  readonly warnings: ReadonlyArray<{ readonly field: string; readonly reason: string }>
  /** How many further fields were left out: of each answer only the first ones are kept. */
  readonly warnings_dropped: number
  /** The call ran on another version: its commands may have differed from those shown. */
  readonly isFromOtherVersion: boolean
}

type EntryText = Omit<TimelineEntry, "at"> | undefined

const line = (actor: Actor, what: string, detail?: unknown): EntryText =>
  detail === undefined ? { actor, what } : { actor, what, detail }

/** The entry for an input; undefined for inputs that are not shown. */
const inputEntry = (input: Facts | Input): EntryText => {
  switch (input._tag) {
    case "Facts":
      return line(
        "call",
        `${input.outbound === undefined ? "" : "outbound "}call from ${input.from ?? "an unknown number"} to ${input.to ?? "an unknown number"}`,
        input.agent
      )
    case "MenuAnswered":
      return line("server", "answered call.started with a menu", input.menu)
    case "ConfigAnswered":
      return line("server", "answered call.started", input.config)
    case "ConfigFailed":
      return line("server", `call.started failed: ${input.fault?.what ?? input.reason}`)
    case "DialFailed":
      return line("call", `not answered: ${input.outcome} (${input.reason})`)
    case "BeepHeard":
      return line("caller", "a beep")
    case "Answered":
      return line("call", "answered")
    case "AnswerFailed":
    case "LegFailed":
    case "Crashed":
      return line("call", `failed: ${input.reason}`)
    case "CallerFinal":
      return line("caller", input.text)
    case "RecognizerFailed":
      return line("caller", `speech recognition failed: ${input.reason}`)
    case "Dtmf":
      return line("caller", `digit ${input.digit}`)
    case "ModelStarted":
      return line("model", `first token of turn ${input.turn}`)
    case "ModelFailed":
      return line("model", `turn ${input.turn} failed: ${input.reason}`)
    case "SpeechFailed":
      return line("agent", `speech failed: ${input.reason}`)
    case "ToolAnswered":
      return line("tool", "result", input.result)
    case "ToolFailed":
      return line("tool", `failed: ${input.fault?.what ?? input.reason}`)
    case "TranscriptFailed":
      return line("server", `transcript.updated failed: ${input.fault?.what ?? input.reason}`)
    case "KnowledgeFound":
      return line(
        "knowledge",
        `${input.passages.length === 1 ? "1 passage" : `${input.passages.length} passages`} found in ${input.took_ms} ms`,
        input.passages.map(({ heading, knowledge_base, score }) => ({ knowledge_base, heading, score }))
      )
    case "KnowledgeFailed":
      return line("knowledge", `not looked up: ${input.reason}`)
    case "Extracted":
      return line("model", "data extracted from the call", input.answer)
    case "ExtractionFailed":
      return line("model", `extraction failed: ${input.reason}`)
    case "PostCallSmsDone":
      return line("tool", input.failed === null ? "post_call_sms sent" : `post_call_sms failed: ${input.failed}`)
    case "GatherRequested":
      return line("call", "digits requested through the API", input.rules)
    case "TransferRequested":
      return line("call", `transfer to ${input.destination} requested through the API`)
    case "TransferProgressed":
      return line("call", `transfer: ${input.state}${input.reason === null ? "" : ` (${input.reason})`}`)
    case "EndRequested":
      return line("call", input.by === "api" ? "end requested through the API" : "the server is stopping")
    case "CallerHungUp":
      return line("caller", "hung up")
    default:
      return undefined
  }
}

const fallbackSuffix = ({ provider }: { readonly provider?: number }): string =>
  provider === undefined ? "" : `, fallback ${provider}`

const commandEntry = (command: Command): EntryText => {
  switch (command._tag) {
    case "FetchConfig":
      return command.gathered === undefined
        ? undefined
        : line("server", "requested the configuration after the menu", command.gathered)
    case "AskModel":
      return line("model", `asked for turn ${command.turn}${fallbackSuffix(command)}`, command.messages)
    case "Listen":
      return command.provider === undefined
        ? undefined
        : line("caller", `speech is recognized${fallbackSuffix(command)}`)
    case "Transfer":
      return line("call", `the network was asked to transfer to ${command.destination}`)
    case "InvokeTool":
      return line("tool", command.name, command.arguments)
    case "LookUp":
      // As with other tools, the arguments are details: links of read keys do not show them.
      return command.purpose === "turn"
        ? line("knowledge", `looked up: ${command.query}`)
        : line("knowledge", "searched by the model", command.query)
    case "SendSms":
      return line("tool", `text message to ${command.to}`, command.message)
    case "Extract":
      return line("model", "asked to extract data", command.fields)
    case "Note":
      return line("call", command.text)
    case "Emit":
      return line("event", command.event, command.data)
    case "Finish":
      return line("call", `ended: ${[command.status, command.disposition, command.ended_reason].join(", ")}`)
    default:
      return undefined
  }
}

/** Look-ups without which a turn went on. */
const knowledgeWarnings = ({
  commands,
  input
}: Replayed["steps"][number]): ReadonlyArray<{ readonly field: string; readonly reason: string }> => {
  if (input._tag === "KnowledgeFailed") return [{ field: "knowledge", reason: input.reason }]
  return commands.some(isLate) ? [{ field: "knowledge", reason: lateReason }] : []
}

const timeOf = (input: Facts | Input): number => (input._tag === "Facts" ? 0 : input.at)

/** The timeline of a journal; undefined when it does not begin with the call's facts. Yields after each row. */
export function* readingTimeline(rows: ReadonlyArray<RecordedInput>): Generator<void, CallTimeline | undefined> {
  const replayed = yield* replaying(rows)
  if (replayed === undefined) return undefined
  const { differing, state, steps } = replayed
  const lines = steps.flatMap(({ commands, input }) =>
    [inputEntry(input), ...commands.map(commandEntry)].flatMap((entry) =>
      entry === undefined ? [] : [{ at: timeOf(input), ...entry }]
    )
  )
  const warned = [
    ...steps.flatMap(({ input }) => (input._tag === "MenuAnswered" ? [input] : [])),
    ...(state.config === null ? [] : [state.config])
  ]
  return {
    lines,
    transcript: state.transcript,
    latencies: state.latencies,
    warnings: [...warned.flatMap(({ warnings }) => warnings), ...steps.flatMap(knowledgeWarnings)],
    warnings_dropped: warned.reduce((sum, { warnings_dropped = 0 }) => sum + warnings_dropped, 0),
    isFromOtherVersion: differing.length > 0
  }
}

/** The timeline of a journal, at once. */
export const timelineOf = (rows: ReadonlyArray<RecordedInput>): CallTimeline | undefined =>
  atOnce(readingTimeline(rows))
