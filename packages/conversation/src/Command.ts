import type { ExtractionField } from "@svc/api/callbacks/Extraction"
import type { CallStatus, Disposition, EndedReason } from "@svc/api/calls/Call"
import type { EventData, EventName } from "@svc/api/events/Event"
import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import type { CallConfig } from "./answers/CallConfig.ts"
import type { Timer } from "./Timer.ts"

/** An event with its data; the shell adds whose it is. */
export type EmittedEvent = {
  readonly [N in EventName]: { readonly event: N; readonly data: EventData[N] }
}[EventName]

/** How a call ended. */
export interface Outcome {
  readonly status: CallStatus
  readonly disposition: Disposition
  readonly ended_reason: EndedReason | null
}

/** What the caller chose of the menu, as the second `call.started` request tells it. */
export interface MenuInput {
  readonly gathered_digit: string | null
  readonly gathered_input: string | null
  readonly gather_status: "valid" | "timeout" | "invalid"
}

/** Position in the order of preference of a capability's providers, from 1; absent: the preferred one. */
export type ProviderIndex = number

/** What a conversation wants done. The shell carries commands out in order and reports back by inputs. */
export type Command =
  /** Ask the agent's server for the configuration → MenuAnswered | ConfigAnswered | ConfigFailed. `gathered`: again, with what was typed → ConfigAnswered | ConfigFailed. */
  | { readonly _tag: "FetchConfig"; readonly gathered?: MenuInput }
  /** Take the call → Answered | AnswerFailed. */
  | { readonly _tag: "Answer" }
  /** Place the call → Answered | DialFailed. */
  | { readonly _tag: "Dial" }
  /** Start (again) to listen to the caller → Caller… inputs, RecognizerFailed. */
  | {
      readonly _tag: "Listen"
      readonly language: string
      readonly format: CallConfig["stt_format"]
      readonly keyterms: ReadonlyArray<string>
      readonly provider?: ProviderIndex
    }
  /** No more is to be heard: the recognizer gives its last words → CallerFinal…, then RecognizerFinished | RecognizerFailed. */
  | { readonly _tag: "StopListening" }
  /** Say a text after all texts asked before → SpeechStarted, then SpeechPlayed | SpeechFailed. */
  | {
      readonly _tag: "Speak"
      readonly id: string
      readonly text: string
      readonly voice: string
      readonly language: string
      readonly provider?: ProviderIndex
    }
  /** Stop at once and drop what waits → SpeechCleared. */
  | { readonly _tag: "StopSpeaking" }
  /** → ModelStarted, ModelSentence…, ModelToolCalls, then ModelDone | ModelFailed. Replaces a running one. */
  | {
      readonly _tag: "AskModel"
      readonly turn: number
      readonly messages: ReadonlyArray<ModelMessage>
      readonly tools: ReadonlyArray<ModelTool>
      readonly provider?: ProviderIndex
    }
  | { readonly _tag: "CancelModel" }
  /** Ask the agent's server → ToolAnswered | ToolFailed. The conversation keeps the time. */
  | {
      readonly _tag: "InvokeTool"
      readonly id: string
      readonly name: string
      readonly arguments: { readonly [key: string]: unknown }
    }
  | { readonly _tag: "CancelTool"; readonly id: string }
  /** Send a text message: of a tool → ToolAnswered | ToolFailed; with the id `post_call` → PostCallSmsDone. */
  | {
      readonly _tag: "SendSms"
      readonly id: string
      /** E.164. */
      readonly to: string
      readonly message: string
      readonly sender_name: string | null
    }
  /** Draw values from what was said → Extracted | ExtractionFailed. */
  | {
      readonly _tag: "Extract"
      readonly messages: ReadonlyArray<ModelMessage>
      readonly fields: ReadonlyArray<ExtractionField>
    }
  /** For people: it stands in the log and the debug timeline. */
  | { readonly _tag: "Note"; readonly text: string }
  /** → TimerFired after `ms`. A running timer of that name starts anew. */
  | { readonly _tag: "StartTimer"; readonly timer: Timer; readonly ms: number }
  | { readonly _tag: "StopTimer"; readonly timer: Timer }
  | ({ readonly _tag: "Emit"; readonly at: number } & EmittedEvent)
  /** Tell the agent's server what was said (fire and forget, in order); `timestamp` in seconds. */
  | {
      readonly _tag: "TellTranscript"
      readonly role: "user" | "assistant"
      readonly content: string
      readonly timestamp: number
    }
  /** Hand the caller over to another number (E.164) → TransferProgressed. */
  | { readonly _tag: "Transfer"; readonly destination: string }
  /** Tell who asked for the transfer how it went. `failure_reason` null: the caller is gone, and we hear no more of the call. */
  | { readonly _tag: "TransferOver"; readonly failure_reason: string | null }
  /** Refuse the call that was not answered, stop ringing, or end the leg. */
  | { readonly _tag: "Hangup"; readonly reason: string }
  /** The last command: settle the record, release everything. */
  | ({ readonly _tag: "Finish" } & Outcome)

export type CommandOf<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>
