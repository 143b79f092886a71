import type { ModelDelta } from "@svc/providers/LanguageModel"
import { ThoughtFilter } from "@svc/providers/ThoughtFilter"
import { Either, Option, Schema } from "effect"
import { ToolCallAssembly, ToolCallPiece } from "./ToolCallAssembly.ts"

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** `reasoning_content` and `reasoning` are not here: what a model thinks is not said. */
const Delta = Schema.Struct({
  content: Schema.optional(Schema.Unknown),
  refusal: nullish(Schema.String),
  tool_calls: nullish(Schema.Array(ToolCallPiece))
})

const Choice = Schema.Struct({
  delta: nullish(Delta),
  /** Of servers that do not stream. */
  message: nullish(Delta),
  finish_reason: nullish(Schema.String)
})

const Tokens = Schema.Int.pipe(Schema.nonNegative())

const Usage = Schema.Struct({
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  prompt_tokens_details: nullish(Schema.Struct({ cached_tokens: nullish(Tokens) })),
  /** DeepSeek's name for cached tokens. */
  prompt_cache_hit_tokens: nullish(Tokens)
})
const decodeUsage = Schema.decodeUnknownOption(Usage)

const Chunk = Schema.parseJson(
  Schema.Struct({
    choices: nullish(Schema.Array(Choice)),
    usage: Schema.optional(Schema.Unknown),
    /** Groq's place for the usage. */
    x_groq: nullish(Schema.Struct({ usage: Schema.optional(Schema.Unknown) })),
    error: Schema.optional(Schema.Unknown)
  })
)
const decodeChunk = Schema.decodeUnknownEither(Chunk)

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const isTextPart = Schema.is(TextPart)
const ErrorMessage = Schema.Struct({ message: Schema.String })
const isErrorMessage = Schema.is(ErrorMessage)

/** The message of an error as servers write it: an object with `message`, or a text. */
export const errorMessageOf = (error: unknown): string =>
  typeof error === "string" ? error : isErrorMessage(error) ? error.message : "no reason was given"

/** The text of a content, which may have parts, among them thoughts. */
const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  return Array.isArray(content) ? content.map((part) => (isTextPart(part) ? part.text : "")).join("") : ""
}

type DoneReason = Extract<ModelDelta, { readonly _tag: "Done" }>["reason"]

const reasonOf = (finish: string, hasCalls: boolean): DoneReason => {
  if (finish === "length" || finish === "content_filter") return finish
  // Some servers end with `stop` after tool calls.
  return hasCalls ? "tool_calls" : "stop"
}

/** Turns the chunks of `/chat/completions` into deltas. Methods return what is wrong, if anything. */
export class ChatStream {
  readonly #onDelta: (delta: ModelDelta) => void
  readonly #thoughts = new ThoughtFilter()
  readonly #calls: ToolCallAssembly
  #finish: string | undefined
  #usage: typeof Usage.Type | undefined
  #hasEnded = false

  constructor(onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta
    this.#calls = new ToolCallAssembly((call) => onDelta({ _tag: "ToolCall", call }))
  }

  /** Whether the answer is complete: only its usage may follow. */
  get isFinished(): boolean {
    return this.#finish !== undefined
  }

  /** Whether nothing may follow. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get hasUsage(): boolean {
    return this.#usage !== undefined
  }

  /** Adds the data of an event. */
  push(data: string): string | undefined {
    if (data.trim() === "[DONE]") {
      this.#hasEnded = true
      this.#finish ??= "stop"
      return undefined
    }
    const chunk = decodeChunk(data)
    if (Either.isLeft(chunk)) return "the answer is not in the format of chat completions"
    const { choices, error, usage, x_groq } = chunk.right
    if (error !== undefined && error !== null) return `the server broke off: ${errorMessageOf(error)}`
    this.#usage = Option.getOrUndefined(decodeUsage(usage ?? x_groq?.usage)) ?? this.#usage
    const choice = choices?.[0]
    if (choice === undefined) return undefined
    const delta = choice.delta ?? choice.message
    this.#say(this.#thoughts.push(textOf(delta?.content) + (delta?.refusal ?? "")))
    for (const piece of delta?.tool_calls ?? []) {
      const problem = this.#calls.push(piece)
      if (problem !== undefined) return problem
    }
    if (choice.finish_reason === "error" || choice.finish_reason === "abort") return "the server broke off"
    if (choice.finish_reason) this.#finish = choice.finish_reason
    return undefined
  }

  /** Emits the rest, at the end of the stream or of the wait for the usage. */
  end(): string | undefined {
    if (this.#finish === undefined) return "the connection was closed before the answer was complete"
    this.#say(this.#thoughts.end())
    // A call that was cut by the limit of tokens cannot be complete.
    const problem = this.#finish === "length" ? undefined : this.#calls.end()
    if (problem !== undefined) return problem
    const usage = this.#usage
    if (usage !== undefined) {
      const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? undefined
      this.#onDelta({
        _tag: "Usage",
        inputTokens: usage.prompt_tokens,
        outputTokens: usage.completion_tokens,
        ...(cached === undefined ? {} : { cachedInputTokens: Math.min(cached, usage.prompt_tokens) })
      })
    }
    this.#onDelta({ _tag: "Done", reason: reasonOf(this.#finish, this.#calls.hasCalls) })
    return undefined
  }

  #say(text: string): void {
    if (text !== "") this.#onDelta({ _tag: "Text", text })
  }
}
