import type { FinishReason } from "@svc/api/chat/ChatCompletion"
import { Unavailable } from "@svc/api/VoiceError"
import type { ModelDelta, ModelRequest, ModelToolCall } from "@svc/providers/LanguageModel"
import { type LoadedLanguageModel, startGeneration } from "@svc/providers/LoadedLanguageModel"
import { Cause, Effect, Exit, Runtime } from "effect"
import type { PreparedRequest } from "./PreparedRequest.ts"
import { StopTexts } from "./StopTexts.ts"

/** A part of an answer. */
export type AnswerPart =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "ToolCall"; readonly call: ModelToolCall }

/** How an answer ended. */
export interface AnswerEnd {
  readonly reason: FinishReason
  /** Absent when the model reported none. */
  readonly usage?: Extract<ModelDelta, { readonly _tag: "Usage" }>
}

/** Characters of a token, where tokens are estimated. */
const charactersPerToken = 4

/** The longest answer in characters; a longer one is cut, with the reason `length`. */
export const longestAnswer = 1_000_000

/** The last failure's reason, for the client. A defect's is not shown. */
const reasonForClient = (cause: Cause.Cause<{ readonly reason: string }>): string => {
  const failure = Cause.failureOption(cause)
  return failure._tag === "Some" ? failure.value.reason : "it crashed"
}

/** What is reported about an answer while it is made. Neither function may throw. */
export interface AnswerListener {
  readonly onPart: (model: LoadedLanguageModel, part: AnswerPart) => void
  /** Called once, after the last part. */
  readonly onEnd: (exit: Exit.Exit<ModelAnswer, Unavailable>) => void
}

/** How an answer ended, and the model that gave it. */
export interface ModelAnswer extends AnswerEnd {
  readonly model: LoadedLanguageModel
}

/** The tokens of an answer of so many characters, by its length and that of the request. */
const estimatedUsage = ({ messages, tools }: ModelRequest, characters: number): NonNullable<AnswerEnd["usage"]> => {
  const sent = messages.reduce((sum, { content }) => sum + content.length, 0)
  const offered = tools.length === 0 ? 0 : JSON.stringify(tools).length
  return {
    _tag: "Usage",
    inputTokens: Math.ceil((sent + offered) / charactersPerToken),
    outputTokens: Math.ceil(characters / charactersPerToken)
  }
}

/** Reads the deltas of one model. Calls of tools that were not offered, as models sometimes make, are left out. */
class AnswerReader {
  readonly #model: LoadedLanguageModel
  readonly #prepared: PreparedRequest
  readonly #listener: AnswerListener
  readonly #texts: StopTexts
  /** Whether the end was reported although the model goes on. */
  isCut = false
  #length = 0
  #calls = 0
  #done: FinishReason | undefined
  #usage: AnswerEnd["usage"]
  /** Whether there was a part. */
  hasBegun = false

  constructor(model: LoadedLanguageModel, prepared: PreparedRequest, listener: AnswerListener) {
    this.#model = model
    this.#prepared = prepared
    this.#listener = listener
    this.#texts = new StopTexts(prepared.stop)
  }

  onDelta(delta: ModelDelta): void {
    if (this.isCut) return
    if (delta._tag === "Text") {
      const { stopped, text } = this.#texts.push(delta.text)
      this.#emitText(text)
      if (stopped && !this.isCut) this.#cut("stop")
    } else if (delta._tag === "ToolCall") {
      this.#emitText(this.#texts.rest())
      const { parallelToolCalls, request } = this.#prepared
      const isOffered = request.tools.some(({ name }) => name === delta.call.name)
      if (this.isCut || !isOffered || (this.#calls > 0 && !parallelToolCalls)) return
      this.#calls += 1
      this.#emit({ _tag: "ToolCall", call: delta.call })
    } else if (delta._tag === "Usage") this.#usage = delta
    else this.#done = delta.reason
  }

  /** The model has completed. */
  onDone(): void {
    this.#emitText(this.#texts.rest())
    if (this.isCut) return
    // Whether tools are called is seen by the calls that are left.
    const own = this.#done === "length" || this.#done === "content_filter" ? this.#done : undefined
    this.#end(own ?? (this.#calls > 0 ? "tool_calls" : "stop"))
  }

  #emit(part: AnswerPart): void {
    this.hasBegun = true
    this.#listener.onPart(this.#model, part)
  }

  #emitText(text: string): void {
    const said = text.slice(0, longestAnswer - this.#length)
    this.#length += said.length
    if (said !== "") this.#emit({ _tag: "Text", text: said })
    if (said.length < text.length) this.#cut("length")
  }

  /** The answer is complete although its model goes on. Models count at their end, which is not waited for. */
  #cut(reason: FinishReason): void {
    this.isCut = true
    this.#usage ??= estimatedUsage(this.#prepared.request, this.#length)
    this.#end(reason)
  }

  #end(reason: FinishReason): void {
    const usage = this.#usage
    this.#listener.onEnd(Exit.succeed({ model: this.#model, reason, ...(usage !== undefined && { usage }) }))
  }
}

/**
 * Answers with the first model that does, in order of preference: the next one is asked when one fails before its first
 * part. After that a failure is the answer's. `runtime`: that of the request's fiber. The result stops the model without
 * waiting for it; call it also after the end, because the model of an answer that was cut goes on.
 */
export const generate = (
  models: ReadonlyArray<LoadedLanguageModel>,
  prepared: PreparedRequest,
  runtime: Runtime.Runtime<never>,
  listener: AnswerListener
): (() => void) => {
  let isStopped = false
  /** The index of the last model: the start of one that fails at once returns after that of the next. */
  let lastAsked = 0
  let stop = () => {}
  const ask = (index: number): void => {
    const model = models[index]
    if (model === undefined) {
      const message = "No language model is loaded: name a plugin that has one in SVC_PLUGINS"
      listener.onEnd(Exit.fail(new Unavailable({ message })))
      return
    }
    const reader = new AnswerReader(model, prepared, listener)
    const stopThis = startGeneration(model, prepared.request, runtime, {
      onDelta: (delta) => {
        if (!isStopped) reader.onDelta(delta)
      },
      onEnd: (exit) => {
        if (isStopped || reader.isCut) return
        if (Exit.isSuccess(exit)) {
          reader.onDone()
          return
        }
        const reason = reasonForClient(exit.cause)
        Runtime.runFork(runtime)(Effect.logWarning(`Language model ${model.id} failed a chat completion: ${reason}`))
        if (!reader.hasBegun && index + 1 < models.length) {
          lastAsked = index + 1
          ask(lastAsked)
        } else listener.onEnd(Exit.fail(new Unavailable({ message: `The language model failed: ${reason}` })))
      }
    })
    if (lastAsked === index) stop = stopThis
  }
  ask(lastAsked)
  return () => {
    isStopped = true
    stop()
  }
}
