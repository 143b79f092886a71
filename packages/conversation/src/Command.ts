import type { ExtractionField } from "@svc/api/callbacks/Extraction"
import type { CallStatus, Disposition, EndedReason } from "@svc/api/calls/Call"
import type { EventData, EventName } from "@svc/api/events/Event"
import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import type { CallConfig } from "./answers/CallConfig.ts"
import type { LookUpPurpose } from "./Input.ts"
import type { Timer } from "./Timer.ts"

/** An event with its data; the shell adds the ids of the organization, project, agent and call. */
export type EmittedEvent = {
  readonly [N in EventName]: { readonly event: N; readonly data: EventData[N] }
}[EventName]

/** How a call ended. */
export interface Outcome {
  readonly status: CallStatus
  readonly disposition: Disposition
  readonly ended_reason: EndedReason | null
}

/** The caller's choice in the menu, as sent with the second `call.started` request. */
export interface MenuInput {
  readonly gathered_digit: string | null
  readonly gathered_input: string | null
  readonly gather_status: "valid" | "timeout" | "invalid"
}

/** Position in the order of preference of a capability's providers, from 1; absent: the preferred one. */
export type ProviderIndex = number

/** What the language model is asked. */
export interface ModelRequest {
  readonly messages: ReadonlyArray<ModelMessage>
  readonly tools: ReadonlyArray<ModelTool>
  /** One of the models that the loaded plugins offer; absent: the preferred one. */
  readonly model?: string
  readonly temperature?: number
  readonly max_tokens?: number
  readonly provider?: ProviderIndex
}

/** A command of the conversation. The shell carries commands out in order and feeds their outcomes back as inputs. */
export type Command =
  /**
   * Request the configuration from the agent's server → MenuAnswered | ConfigAnswered | ConfigFailed. With `gathered`:
   * the request after the menu → ConfigAnswered | ConfigFailed.
   */
  | { readonly _tag: "FetchConfig"; readonly gathered?: MenuInput }
  /** Answer the call → Answered | AnswerFailed. */
  | { readonly _tag: "Answer" }
  /** Place the call → Answered | DialFailed. */
  | { readonly _tag: "Dial" }
  /** Open speech-to-text, in place of an open session → Caller… inputs, RecognizerFailed. */
  | {
      readonly _tag: "Listen"
      readonly language: string
      readonly format: CallConfig["stt_format"]
      readonly keyterms: ReadonlyArray<string>
      readonly provider?: ProviderIndex
    }
  /**
   * Finish speech-to-text and get the rest of its transcript → CallerFinal…, then RecognizerFinished |
   * RecognizerFailed.
   */
  | { readonly _tag: "StopListening" }
  /**
   * Speak a text after all texts queued before → SpeechStarted, then SpeechPlayed | SpeechFailed. With `turn` it is a part
   * of the agent's answer in that turn: consecutive texts of one turn are spoken as one, until EndSpeech or other speech.
   */
  | {
      readonly _tag: "Speak"
      readonly id: string
      readonly text: string
      readonly voice: string
      readonly language: string
      readonly turn?: number
      /** From 0.5 to 2; absent: 1. */
      readonly speed?: number
      readonly provider?: ProviderIndex
    }
  /** No text of this turn follows. */
  | { readonly _tag: "EndSpeech"; readonly turn: number }
  /**
   * Stop speaking at once → SpeechCleared. All texts are dropped; with `hold` their audio is kept, where there is any, until
   * ResumeSpeaking or DropSpeech.
   */
  | { readonly _tag: "StopSpeaking"; readonly hold?: true }
  /** Speak on with the audio that was held, from the beginning of the word that was cut → SpeechStarted, SpeechPlayed…. */
  | { readonly _tag: "ResumeSpeaking" }
  /** Drop what was held. */
  | { readonly _tag: "DropSpeech" }
  /**
   * Start a generation, in place of a running one → ModelStarted, ModelSentence…, ModelToolCalls, then ModelDone |
   * ModelFailed. `ahead`: the held answer with this id is used, with all that it has given so far; if it failed, gives
   * nothing, or the shell has it no more, the model is asked.
   */
  | ({ readonly _tag: "AskModel"; readonly turn: number; readonly ahead?: string } & ModelRequest)
  /** Start a generation whose answer is held, in place of a held one; no inputs follow. */
  | ({ readonly _tag: "AskAhead"; readonly id: string } & ModelRequest)
  /** Stop the generation of a held answer, and drop the answer. */
  | { readonly _tag: "DropAhead"; readonly id: string }
  | { readonly _tag: "CancelModel" }
  /** Send tool.call to the agent's server → ToolAnswered | ToolFailed. The conversation sets the time limit. */
  | {
      readonly _tag: "InvokeTool"
      readonly id: string
      readonly name: string
      readonly arguments: { readonly [key: string]: unknown }
    }
  | { readonly _tag: "CancelTool"; readonly id: string }
  /**
   * Look a text up in the agent's knowledge bases → KnowledgeFound | KnowledgeFailed: for the turn of the caller, in
   * place of a running look-up for a turn, or for the model's tool call with this id.
   */
  | { readonly _tag: "LookUp"; readonly id: string; readonly purpose: LookUpPurpose; readonly query: string }
  /** Send a text message: of a tool → ToolAnswered | ToolFailed; with the id `post_call` → PostCallSmsDone. */
  | {
      readonly _tag: "SendSms"
      readonly id: string
      /** E.164. */
      readonly to: string
      readonly message: string
      readonly sender_name: string | null
    }
  /** Extract data from the transcript → Extracted | ExtractionFailed. */
  | {
      readonly _tag: "Extract"
      readonly messages: ReadonlyArray<ModelMessage>
      readonly fields: ReadonlyArray<ExtractionField>
    }
  /**
   * Sum up turns that left the history, beside the call → Summarized | SummaryFailed. `model` and `provider` as in
   * AskModel.
   */
  | ({ readonly _tag: "Summarize"; readonly id: string; readonly messages: ReadonlyArray<ModelMessage> } & Pick<
      ModelRequest,
      "model" | "provider"
    >)
  /** A message for people, in the log and the timeline. */
  | { readonly _tag: "Note"; readonly text: string }
  /** → TimerFired after `ms`. Restarts a running timer of that name. */
  | { readonly _tag: "StartTimer"; readonly timer: Timer; readonly ms: number }
  | { readonly _tag: "StopTimer"; readonly timer: Timer }
  | ({ readonly _tag: "Emit"; readonly at: number } & EmittedEvent)
  /**
   * Send transcript.updated to the agent's server, in order, without waiting for the answer; `timestamp` in seconds.
   */
  | {
      readonly _tag: "TellTranscript"
      readonly role: "user" | "assistant"
      readonly content: string
      readonly timestamp: number
    }
  /** Press keys (`0-9*#`) of a tool call → ToolAnswered if the network cannot send them. */
  | { readonly _tag: "PressKeys"; readonly id: string; readonly digits: string }
  /**
   * Transfer the caller to another number (E.164) → TransferProgressed. With `announcement` the agent says it to the
   * destination first, where a second leg can be dialled.
   */
  | {
      readonly _tag: "Transfer"
      readonly destination: string
      readonly announcement?: Pick<CommandOf<"Speak">, "text" | "voice" | "language" | "speed" | "provider">
    }
  /**
   * The transfer is over; completes the API request that started it. `failure_reason` null: the caller was transferred.
   */
  | { readonly _tag: "TransferOver"; readonly failure_reason: string | null }
  /** Reject an unanswered call, stop ringing, or end the leg. */
  | { readonly _tag: "Hangup"; readonly reason: string }
  /** The last command: settle the record and release all resources. */
  | ({ readonly _tag: "Finish" } & Outcome)

export type CommandOf<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>
