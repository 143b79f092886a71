import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatUsage,
  chatModel,
  type FinishReason
} from "@svc/api/chat/ChatCompletion"
import type { ChatToolCall } from "@svc/api/chat/ChatRequest"
import type { ModelToolCall } from "@svc/providers/LanguageModel"
import type { AnswerEnd, AnswerPart } from "./Answers.ts"

/** What all chunks of a completion have in common. */
export interface CompletionHead {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly model: typeof chatModel
  readonly system_fingerprint: string
}

/** The head of a completion; `created` in milliseconds. */
export const headOf = (id: string, created: number, modelId: string): CompletionHead => ({
  id,
  created: Math.floor(created / 1000),
  model: chatModel,
  system_fingerprint: `fp_${modelId}`
})

const toolCallOf = ({ arguments: args, id, name }: ModelToolCall): ChatToolCall => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(args) }
})

const usageOf = ({ cachedInputTokens = 0, inputTokens, outputTokens }: NonNullable<AnswerEnd["usage"]>): ChatUsage => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedInputTokens }
})

/** The whole completion of an answer. */
export const completionOf = (
  head: CompletionHead,
  parts: ReadonlyArray<AnswerPart>,
  { reason, usage }: AnswerEnd
): ChatCompletion => {
  const text = parts.map((part) => (part._tag === "Text" ? part.text : "")).join("")
  const calls = parts.flatMap((part) => (part._tag === "ToolCall" ? [toolCallOf(part.call)] : []))
  const message = {
    role: "assistant" as const,
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls })
  }
  return {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    ...(usage !== undefined && { usage: usageOf(usage) })
  }
}

type Delta = ChatCompletionChunk["choices"][number]["delta"]

/** The data of one server-sent event. */
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

/** The events of one streamed completion, as text. */
export class CompletionEvents {
  private calls = 0
  private readonly head: CompletionHead
  private readonly includeUsage: boolean
  constructor(head: CompletionHead, includeUsage: boolean) {
    this.head = head
    this.includeUsage = includeUsage
  }

  private chunk(choices: ChatCompletionChunk["choices"], usage: ChatUsage | null = null): string {
    const chunk: ChatCompletionChunk = {
      ...this.head,
      object: "chat.completion.chunk",
      choices,
      ...(this.includeUsage && { usage })
    }
    return event(chunk)
  }

  private choice(delta: Delta, finish_reason: FinishReason | null = null): string {
    return this.chunk([{ index: 0, delta, logprobs: null, finish_reason }])
  }

  /** The first event. */
  begin(): string {
    return this.choice({ role: "assistant", content: "" })
  }

  part(part: AnswerPart): string {
    return part._tag === "Text"
      ? this.choice({ content: part.text })
      : this.choice({ tool_calls: [{ index: this.calls++, ...toolCallOf(part.call) }] })
  }

  /** The last events. */
  end({ reason, usage }: AnswerEnd): string {
    const last = this.includeUsage && usage !== undefined ? this.chunk([], usageOf(usage)) : ""
    return `${this.choice({}, reason)}${last}data: [DONE]\n\n`
  }

  /** The last event of an answer that failed; `body` is that of an error response. */
  failure(body: unknown): string {
    return event(body)
  }
}
