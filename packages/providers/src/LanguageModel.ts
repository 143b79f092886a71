import { Context, Data, type Effect } from "effect"
import type { Health } from "./Health.ts"

/** A complete tool call of the model, with parsed arguments. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

/** One message of the conversation that the model receives. */
export type ModelMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly tool_calls?: ReadonlyArray<ModelToolCall> }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly name: string; readonly content: string }

/** A tool that the model may call; `parameters` is a JSON Schema. */
export interface ModelTool {
  readonly name: string
  readonly description: string
  readonly parameters: { readonly [key: string]: unknown }
}

/** One part of a generation, emitted synchronously and in order. */
export type ModelDelta =
  | { readonly _tag: "Text"; readonly text: string }
  /** As soon as it is complete: tools start while the model still generates. */
  | { readonly _tag: "ToolCall"; readonly call: ModelToolCall }
  | {
      readonly _tag: "Usage"
      /** Tokens of the request, those from the provider's cache included. */
      readonly inputTokens: number
      readonly outputTokens: number
      /** How many of `inputTokens` came from the provider's cache. */
      readonly cachedInputTokens?: number
    }
  | { readonly _tag: "Done"; readonly reason: "stop" | "tool_calls" | "length" | "content_filter" }

export class LanguageModelError extends Data.TaggedError("LanguageModelError")<{
  readonly reason: string
  readonly retryable: boolean
}> {}

/** Its parts are used again in later requests: a provider must not change them, and what is frozen throws. */
export interface ModelRequest {
  /** The id of the call or text session, the same in all its requests: a key for the provider's prompt cache. */
  readonly callId: string
  /** One of the provider's `models`. Absent: its first. */
  readonly model?: string
  readonly messages: ReadonlyArray<ModelMessage>
  readonly tools: ReadonlyArray<ModelTool>
  /** From 0 to 2. */
  readonly temperature?: number
  /** The share of the most probable tokens from which the model chooses, from 0 to 1. */
  readonly topP?: number
  /** The longest answer, in tokens. An answer that reaches it ends with `Done` and the reason `length`. */
  readonly maxOutputTokens?: number
  /** `required`: the answer must call a tool. Otherwise the model chooses. */
  readonly toolChoice?: "auto" | "required"
  /** Requests one JSON object that conforms to this JSON Schema. */
  readonly responseSchema?: { readonly [key: string]: unknown }
  /** Values of the call that scripted models may substitute: `from`, `to`. */
  readonly variables: { readonly [name: string]: string }
}

/** What the requests of a call have in common, before the first of them. */
export interface ModelPreparation {
  /** As in the requests. */
  readonly callId: string
  /** One of the provider's `models`. Absent: its first. */
  readonly model?: string
  /** The text of the first message of each request. */
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<ModelTool>
}

/** A language model. */
export class LanguageModel extends Context.Tag("@svc/providers/LanguageModel")<
  LanguageModel,
  {
    readonly id: string
    /** Read at each use: a getter may return other models later. */
    readonly models: ReadonlyArray<string>
    /** How many tokens a request and its answer may have together. Absent or undefined: not known. */
    readonly contextTokens?: (model: string) => number | undefined
    /** Whether messages of user and assistant must alternate. Absent: false. */
    readonly alternatingRoles?: boolean
    readonly health: Effect.Effect<Health>
    /** Share of the call's cost that is credited when this model is used, 0..1. See docs/reference/billing.md. */
    readonly discount?: number
    /**
     * Prepares for the requests of a call or text session: opens a connection, warms a prompt cache. Asked once when the
     * call is configured, before it is answered, and again when its prompt changes or this model takes over. It runs beside
     * the call, and its failure is only logged; but what it does before its first asynchronous step is done before the call
     * is answered and before speech providers are opened. Absent: there is nothing to prepare.
     */
    readonly prepare?: (call: ModelPreparation) => Effect.Effect<void, LanguageModelError>
    /**
     * Generates an answer; each delta goes to `onDelta` at once. Completes after `Done`. Interruption stops it within
     * 50 ms, and no delta follows. (A callback, because a Stream per turn costs 2.5 times the CPU; adapt one with
     * `Stream.runForEach`.)
     */
    readonly generate: (
      request: ModelRequest,
      onDelta: (delta: ModelDelta) => void
    ) => Effect.Effect<void, LanguageModelError>
  }
>() {}
