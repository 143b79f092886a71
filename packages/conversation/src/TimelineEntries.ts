import { gatherBegins, type TimelineEvent } from "@svc/api/calls/CallTimeline"
import type { Command } from "./Command.ts"
import type { Facts, Input } from "./Input.ts"

/** One event of a call, for people. `data` is JSON, null without details. */
export type TimelineEntry = TimelineEvent

type EntryText = Omit<TimelineEntry, "at"> | undefined

const line = (actor: TimelineEntry["actor"], what: string, data: unknown = null): EntryText => ({ actor, what, data })

/** Messages to the model that an entry keeps: the earlier ones are those of the entry before. */
const newestMessages = 6

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
      return line("server", gatherBegins.menu, input.menu)
    case "ConfigAnswered":
      return line("server", "answered call.started", input.config)
    case "ConfigFailed":
      return line("server", `call.started failed: ${input.fault?.what ?? input.reason}`)
    case "DialFailed":
      return line("call", `not answered: ${input.outcome} (${input.reason})`)
    case "AnswererReported":
      return line("call", `the carrier detected who answered: ${input.verdict}`)
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
    case "Summarized":
      return line("model", "summed up earlier turns", input.text)
    case "SummaryFailed":
      return line("model", `earlier turns were not summed up: ${input.reason}`)
    case "ProviderWarned":
      return line(input.stage === "language-model" ? "model" : "agent", input.reason)
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
    case "RecordingFailed":
      return line("server", `recording: ${input.reason}`)
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
      return line("call", gatherBegins.request, input.rules)
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
      return line(
        "model",
        `asked for turn ${command.turn}${fallbackSuffix(command)}${command.ahead === undefined ? "" : ", before the end of the caller's turn"}`,
        {
          messages: command.messages.length,
          newest: command.messages.slice(-newestMessages)
        }
      )
    case "Listen":
      return command.provider === undefined
        ? undefined
        : line("caller", `speech is recognized${fallbackSuffix(command)}`)
    case "Transfer":
      return line("call", `the network was asked to transfer to ${command.destination}`)
    case "InvokeTool":
      return line("tool", command.name, command.arguments)
    case "LookUp":
      // As with other tools, the arguments are details: read keys do not get them.
      return command.purpose === "turn"
        ? line("knowledge", `looked up: ${command.query}`)
        : line("knowledge", "searched by the model", command.query)
    case "SendSms":
      return line("tool", `text message to ${command.to}`, command.message)
    case "Summarize":
      return line("model", "asked to sum up earlier turns")
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

/** The entries for an input and the commands that it led to. */
export const entriesOf = (
  at: number,
  input: Facts | Input,
  commands: ReadonlyArray<Command>
): ReadonlyArray<TimelineEntry> =>
  [inputEntry(input), ...commands.map(commandEntry)].flatMap((entry) => (entry === undefined ? [] : [{ at, ...entry }]))
