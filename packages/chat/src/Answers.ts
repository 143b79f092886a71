import type { FinishReason } from "@svc/api/chat/ChatCompletion"
import { Unavailable } from "@svc/api/VoiceError"
import type { LanguageModel, ModelDelta, ModelToolCall } from "@svc/providers/LanguageModel"
import { Cause, type Context, Deferred, Effect, FiberId } from "effect"
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

/** The longest answer in characters; a longer one is cut, with the reason `length`. */
export const longestAnswer = 1_000_000

/** The longest time of one answer, however steadily it grows. */
const longestTime = "10 minutes"

/** The last failure's reason, for the client. A defect's is not shown. */
const reasonOf = (cause: Cause.Cause<{ readonly reason: string }>): string => {
  const failure = Cause.failureOption(cause)
  return failure._tag === "Some" ? failure.value.reason : "it crashed"
}

/**
 * Runs one model. `onPart` is called at once for each part. Calls of tools that were not offered, as models sometimes
 * make, are left out.
 */
const answerOf = (
  model: Model,
  { parallelToolCalls, request, stop }: PreparedRequest,
  onPart: (part: AnswerPart) => void
) =>
  Effect.suspend(() => {
    const texts = new StopTexts(stop)
    const enough = Deferred.unsafeMake<void>(FiberId.none)
    let cut: FinishReason | undefined
    let length = 0
    let calls = 0
    let done: FinishReason | undefined
    let usage: AnswerEnd["usage"]

    const end = (reason: FinishReason): void => {
      cut = reason
      Deferred.unsafeDone(enough, Effect.void)
    }
    const say = (text: string): void => {
      const said = text.slice(0, longestAnswer - length)
      length += said.length
      if (said !== "") onPart({ _tag: "Text", text: said })
      if (said.length < text.length) end("length")
    }
    const onDelta = (delta: ModelDelta): void => {
      if (cut !== undefined) return
      if (delta._tag === "Text") {
        const { stopped, text } = texts.push(delta.text)
        say(text)
        if (stopped && cut === undefined) end("stop")
      } else if (delta._tag === "ToolCall") {
        say(texts.rest())
        const isOffered = request.tools.some(({ name }) => name === delta.call.name)
        if (!isOffered || (calls > 0 && !parallelToolCalls)) return
        calls += 1
        onPart({ _tag: "ToolCall", call: delta.call })
      } else if (delta._tag === "Usage") usage = delta
      else done = delta.reason
    }
    return Effect.map(Effect.raceFirst(model.generate(request, onDelta), Deferred.await(enough)), (): AnswerEnd => {
      if (cut === undefined) say(texts.rest())
      // Whether tools are called is seen by the calls that are left.
      const own = done === "length" || done === "content_filter" ? done : undefined
      const reason = cut ?? own ?? (calls > 0 ? "tool_calls" : "stop")
      return { reason, ...(usage !== undefined && { usage }) }
    })
  })

/**
 * Answers with the first model that does, in order of preference: the next one is asked when one fails before its first part.
 * After that a failure is the answer's.
 */
export const generate = (
  models: ReadonlyArray<Model>,
  prepared: PreparedRequest,
  listener: { readonly onPart: (model: Model, part: AnswerPart) => void }
): Effect.Effect<AnswerEnd & { readonly model: Model }, Unavailable> => {
  const ask = (index: number): Effect.Effect<AnswerEnd & { readonly model: Model }, Unavailable> => {
    const model = models[index]
    if (model === undefined) {
      return new Unavailable({ message: "No language model is loaded: name a plugin that has one in SVC_PLUGINS" })
    }
    let begun = false
    const answer = answerOf(model, prepared, (part) => {
      begun = true
      listener.onPart(model, part)
    })
    return Effect.matchCauseEffect(answer, {
      onSuccess: (end) => Effect.succeed({ ...end, model }),
      onFailure: (cause) => {
        if (Cause.isInterrupted(cause)) return Effect.interrupt
        const reason = reasonOf(cause)
        const failed = new Unavailable({ message: `The language model failed: ${reason}` })
        return Effect.zipRight(
          Effect.logWarning(`Language model ${model.id} failed a chat completion: ${reason}`),
          begun || index + 1 === models.length ? failed : ask(index + 1)
        )
      }
    })
  }
  return Effect.timeoutFail(ask(0), {
    duration: longestTime,
    onTimeout: () => new Unavailable({ message: `The answer took longer than ${longestTime}` })
  })
}
