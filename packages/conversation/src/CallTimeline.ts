import type { TranscriptTurn, TurnLatency } from "@svc/api/calls/Call"
import type { Command } from "./Command.ts"
import type { Facts, Input } from "./Input.ts"
import { type RecordedInput, replay } from "./Replay.ts"

/** Who did what a line of the timeline tells of. */
export type Actor = "call" | "caller" | "agent" | "model" | "tool" | "server" | "event"

/** One thing that happened in a call. */
export interface TimelineEntry {
  /** Milliseconds since the call's start. */
  readonly at: number
  readonly actor: Actor
  readonly what: string
  /** More of it, as JSON. */
  readonly detail?: unknown
}

/** A call as its journal tells it. */
export interface CallTimeline {
  readonly lines: ReadonlyArray<TimelineEntry>
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latencies: ReadonlyArray<TurnLatency>
  /** Fields of the agent's configuration that were left out, and why. */
  readonly warnings: ReadonlyArray<{ readonly field: string; readonly reason: string }>
  /** The call was held by other logic than ours: what follows from its inputs may have been different then. */
  readonly isOfOtherVersion: boolean
}

type Told = Omit<TimelineEntry, "at"> | undefined

const line = (actor: Actor, what: string, detail?: unknown): Told =>
  detail === undefined ? { actor, what } : { actor, what, detail }

/** What an input means to people; none for those that say nothing by themselves. */
const ofInput = (input: Facts | Input): Told => {
  switch (input._tag) {
    case "Facts":
      return line(
        "call",
        `${input.outbound === undefined ? "" : "outbound "}call from ${input.from ?? "an unknown number"} to ${input.to ?? "an unknown number"}`,
        input.agent
      )
    case "MenuAnswered":
      return line("server", "answered call.started: a menu first", input.menu)
    case "ConfigAnswered":
      return line("server", "answered call.started", input.config)
    case "ConfigFailed":
      return line("server", `call.started failed: ${input.reason}`)
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
      return line("caller", `key ${input.digit}`)
    case "ModelStarted":
      return line("model", `first token of turn ${input.turn}`)
    case "ModelFailed":
      return line("model", `turn ${input.turn} failed: ${input.reason}`)
    case "SpeechFailed":
      return line("agent", `speech failed: ${input.reason}`)
    case "ToolAnswered":
      return line("tool", "result", input.result)
    case "ToolFailed":
      return line("tool", `failed: ${input.reason}`)
    case "Extracted":
      return line("model", "values drawn from the call", input.answer)
    case "ExtractionFailed":
      return line("model", `no values could be drawn from the call: ${input.reason}`)
    case "PostCallSmsDone":
      return line(
        "tool",
        input.failed === null ? "message after the call sent" : `message after the call failed: ${input.failed}`
      )
    case "GatherRequested":
      return line("call", "digits asked for through the API", input.rules)
    case "TransferRequested":
      return line("call", `transfer to ${input.destination} asked for through the API`)
    case "TransferProgressed":
      return line("call", `transfer: ${input.state}${input.reason === null ? "" : ` (${input.reason})`}`)
    case "EndRequested":
      return line("call", input.by === "api" ? "end asked for through the API" : "the server stops")
    case "CallerHungUp":
      return line("caller", "hung up")
    default:
      return undefined
  }
}

const standIn = ({ provider }: { readonly provider?: number }): string =>
  provider === undefined ? "" : `, by stand-in ${provider}`

const ofCommand = (command: Command): Told => {
  switch (command._tag) {
    case "FetchConfig":
      return command.gathered === undefined ? undefined : line("server", "asked for the choice", command.gathered)
    case "AskModel":
      return line("model", `asked for turn ${command.turn}${standIn(command)}`, command.messages)
    case "Listen":
      return command.provider === undefined ? undefined : line("caller", `speech is recognized${standIn(command)}`)
    case "Transfer":
      return line("call", `the network was asked to transfer to ${command.destination}`)
    case "InvokeTool":
      return line("tool", command.name, command.arguments)
    case "SendSms":
      return line("tool", `text message to ${command.to}`, command.message)
    case "Extract":
      return line("model", "asked for the values of the call", command.fields)
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

const timeOf = (input: Facts | Input): number => (input._tag === "Facts" ? 0 : input.at)

/** What a journal tells; undefined when it does not begin with the call's facts. */
export const timelineOf = (rows: ReadonlyArray<RecordedInput>): CallTimeline | undefined => {
  const replayed = replay(rows)
  if (replayed === undefined) return undefined
  const { differing, state, steps } = replayed
  const lines = steps.flatMap(({ commands, input }) =>
    [ofInput(input), ...commands.map(ofCommand)].flatMap((told) =>
      told === undefined ? [] : [{ at: timeOf(input), ...told }]
    )
  )
  return {
    lines,
    transcript: state.transcript,
    latencies: state.latencies,
    warnings: [
      ...steps.flatMap(({ input }) => (input._tag === "MenuAnswered" ? input.warnings : [])),
      ...(state.config?.warnings ?? [])
    ],
    isOfOtherVersion: differing.length > 0
  }
}
