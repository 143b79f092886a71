import type { FinishReason } from "@svc/api/chat/ChatCompletion"
import { Unavailable } from "@svc/api/VoiceError"
import type { LanguageModel, ModelDelta, ModelRequest, ModelToolCall } from "@svc/providers/LanguageModel"
import { Cause, type Context, Effect } from "effect"
import type { PreparedRequest } from "./PreparedRequest.ts"
import { StopTexts } from "./StopTexts.ts"

type Model = Context.Tag.Service<LanguageModel>

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

/** What is told about an answer while it is made. */
export interface AnswerListener {
  readonly onPart: (model: Model, part: AnswerPart) => void
  /** The answer is complete although its model goes on, which is to be interrupted. Called at most once. */
  readonly onCut: (answer: ModelAnswer) => void
}

/** How an answer ended, and the model that gave it. */
export interface ModelAnswer extends AnswerEnd {
  readonly model: Model
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

/** Runs one model. Calls of tools that were not offered, as models sometimes make, are left out. */
const answerOf = (model: Model, { parallelToolCalls, request, stop }: PreparedRequest, listener: AnswerListener) =>
  Effect.suspend(() => {
    const texts = new StopTexts(stop)
    let isCut = false
    let length = 0
    let calls = 0
    let done: FinishReason | undefined
    let usage: AnswerEnd["usage"]

    const ended = (reason: FinishReason): ModelAnswer => ({ model, reason, ...(usage !== undefined && { usage }) })
    const cut = (reason: FinishReason): void => {
      isCut = true
      // Models count at their end, which is not waited for.
      usage ??= estimatedUsage(request, length)
      listener.onCut(ended(reason))
    }
    const say = (text: string): void => {
      const said = text.slice(0, longestAnswer - length)
      length += said.length
      if (said !== "") listener.onPart(model, { _tag: "Text", text: said })
      if (said.length < text.length) cut("length")
    }
    const onDelta = (delta: ModelDelta): void => {
      if (isCut) return
      if (delta._tag === "Text") {
        const { stopped, text } = texts.push(delta.text)
        say(text)
        if (stopped && !isCut) cut("stop")
      } else if (delta._tag === "ToolCall") {
        say(texts.rest())
        const isOffered = request.tools.some(({ name }) => name === delta.call.name)
        if (isCut || !isOffered || (calls > 0 && !parallelToolCalls)) return
        calls += 1
        listener.onPart(model, { _tag: "ToolCall", call: delta.call })
      } else if (delta._tag === "Usage") usage = delta
      else done = delta.reason
    }
    return Effect.map(model.generate(request, onDelta), (): ModelAnswer => {
      if (!isCut) say(texts.rest())
      // Whether tools are called is seen by the calls that are left.
      const own = done === "length" || done === "content_filter" ? done : undefined
      return ended(own ?? (calls > 0 ? "tool_calls" : "stop"))
    })
  })

/**
 * Answers with the first model that does, in order of preference: the next one is asked when one fails before its first part.
 * After that a failure is the answer's.
 */
export const generate = (
  models: ReadonlyArray<Model>,
  prepared: PreparedRequest,
  listener: AnswerListener
): Effect.Effect<ModelAnswer, Unavailable> => {
  const ask = (index: number): Effect.Effect<ModelAnswer, Unavailable> => {
    const model = models[index]
    if (model === undefined) {
      return new Unavailable({ message: "No language model is loaded: name a plugin that has one in SVC_PLUGINS" })
    }
    let begun = false
    const answer = answerOf(model, prepared, {
      onPart: (one, part) => {
        begun = true
        listener.onPart(one, part)
      },
      onCut: listener.onCut
    })
    return Effect.catchAllCause(answer, (cause) => {
      if (Cause.isInterrupted(cause)) return Effect.interrupt
      const reason = reasonForClient(cause)
      const failed = new Unavailable({ message: `The language model failed: ${reason}` })
      return Effect.zipRight(
        Effect.logWarning(`Language model ${model.id} failed a chat completion: ${reason}`),
        begun || index + 1 === models.length ? failed : ask(index + 1)
      )
    })
  }
  return ask(0)
}
