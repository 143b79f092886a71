import type { ChatCompletion } from "@svc/api/chat/ChatCompletion"
import {
  type ChatConcurrentLimitExceeded,
  type ChatRateLimitExceeded,
  toChatErrorBody,
  type UnsupportedModel
} from "@svc/api/chat/ChatError"
import type { ChatRequest } from "@svc/api/chat/ChatRequest"
import type { EventStream, Streamed } from "@svc/api/EventStream"
import { newChatCompletionId } from "@svc/api/Ids"
import type { BodyWriter } from "@svc/api/PlainRoutes"
import type { Principal } from "@svc/api/Principal"
import { Unavailable, type ValidationError } from "@svc/api/VoiceError"
import { Providers } from "@svc/providers/Providers"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { Cause, Clock, Context, Data, Duration, Effect, Exit, Layer, Option } from "effect"
import { type AnswerEnd, type AnswerPart, generate, type ModelAnswer } from "./Answers.ts"
import { ChatLimits } from "./ChatLimits.ts"
import { CompletionEvents, completionOf, headOf } from "./Completions.ts"
import { type PreparedRequest, prepare } from "./PreparedRequest.ts"

type Stream = Context.Tag.Service<EventStream>
type ChatError = ChatConcurrentLimitExceeded | ChatRateLimitExceeded | Unavailable | UnsupportedModel | ValidationError

/** How long a client may take to read what was sent last, before its connection is cut. */
const slowestRead = "30 seconds"

/** Characters of a piece that are sent without waiting until the client has them. */
const unwaited = 16_384

/** The longest time of one answer, however steadily it grows. */
const longestTime = "10 minutes"

const tookTooLong = () => new Unavailable({ message: `The answer took longer than ${longestTime}` })

/** The client did not read for that long. */
class ClientStalled extends Data.TaggedError("ClientStalled")<{}> {}

/** Starts a fiber that is stopped by hand. */
const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkDaemon(Effect.interruptible(effect))

/** An answer that is being made. */
interface RunningAnswer {
  /** Completes when there are parts, or the answer has ended. */
  readonly ready: Effect.Effect<void>
  /** The parts since the last time; neighbouring texts are one. */
  readonly take: () => ReadonlyArray<AnswerPart>
  /** How the answer ended; undefined while it runs. */
  readonly end: () => Exit.Exit<AnswerEnd, Unavailable> | undefined
  /** The id of the model that answers; known when it has begun. */
  readonly modelId: () => string
  /** Interrupts the model, without waiting for it. */
  readonly stop: Effect.Effect<void>
}

/** Chat completions by the server's language models. See docs/reference/chat.md. */
export class Chat extends Context.Tag("@svc/chat/Chat")<
  Chat,
  {
    /**
     * Answers a request: with the whole completion, or by `stream` when the request asks for that. Interruption stops the
     * model.
     */
    readonly complete: (
      org: Principal["org"],
      body: ChatRequest,
      stream: Stream
    ) => Effect.Effect<ChatCompletion | Streamed, ChatError>
    /** Whether there is a language model. */
    readonly isAvailable: boolean
  }
>() {
  static readonly layer: Layer.Layer<Chat, never, ChatLimits | Providers> = Layer.effect(
    Chat,
    Effect.gen(function* () {
      const limits = yield* ChatLimits
      const { languageModel: models } = yield* Providers
      const timeLimit = yield* SharedTimeout.make(Duration.toMillis(longestTime))

      /** Begins to answer, until `stop`. Its fiber is started by hand: scopes and races take longer than it. */
      const start = Effect.fnUntraced(function* (prepared: PreparedRequest) {
        const self = yield* Effect.fiberId
        const started = timeLimit.now()
        const wake = Effect.unsafeMakeLatch()
        let parts: Array<AnswerPart> = []
        let end: Exit.Exit<AnswerEnd, Unavailable> | undefined
        let modelId = ""
        const endWith = (exit: Exit.Exit<ModelAnswer, Unavailable>): void => {
          if (end !== undefined) return
          if (Exit.isSuccess(exit)) modelId = exit.value.model.id
          end = exit
          wake.unsafeOpen()
        }
        const answer = yield* fork(
          generate(models, prepared, {
            onPart: (model, part) => {
              if (end !== undefined) return
              modelId = model.id
              const last = parts.at(-1)
              if (part._tag === "Text" && last?._tag === "Text") {
                parts[parts.length - 1] = { _tag: "Text", text: last.text + part.text }
              } else parts.push(part)
              wake.unsafeOpen()
            },
            onCut: (cut) => endWith(Exit.succeed(cut))
          })
        )
        answer.addObserver(endWith)
        const stopWatching = timeLimit.watch(
          () => started,
          () => endWith(Exit.fail(tookTooLong()))
        )
        const running: RunningAnswer = {
          ready: wake.await,
          take: () => {
            const taken = parts
            parts = []
            if (end === undefined) wake.unsafeClose()
            return taken
          },
          end: () => end,
          modelId: () => modelId,
          stop: Effect.sync(() => {
            stopWatching()
            answer.unsafeInterruptAsFork(self)
          })
        }
        return running
      })

      /** Sends parts as they come. A slow client gets longer texts: what waits for it is one answer at the most. */
      const sendAll = Effect.fnUntraced(function* (
        answer: RunningAnswer,
        events: CompletionEvents,
        writer: BodyWriter,
        finish: Effect.Effect<void>
      ) {
        // Texts of up to `unwaited` characters are sent without waiting, unless the client is behind: the wait takes longer.
        const isLittle = (text: string): boolean => text.length <= unwaited && !writer.isBehind()
        let text = events.begin()
        while (true) {
          yield* answer.ready
          // Read before the parts: those of an answer that has ended are complete.
          const end = answer.end()
          for (const part of answer.take()) text += events.part(part)
          if (end !== undefined) {
            // Other servers may be late to know that the answer has ended: only its last events wait for them.
            if (text !== "" && isLittle(text)) {
              writer.push(text)
              text = ""
            }
            yield* finish
            text += Exit.match(end, {
              onSuccess: (value) => events.end(value),
              onFailure: (cause) =>
                events.failure(toChatErrorBody(Option.getOrElse(Cause.failureOption(cause), () => new Unavailable())))
            })
          }
          if (isLittle(text)) writer.push(text)
          else {
            yield* Effect.timeoutFail(writer.write(text), {
              duration: slowestRead,
              onTimeout: () => new ClientStalled()
            })
          }
          if (end !== undefined) return
          text = ""
        }
      })

      /** Answers with what a model says. */
      const respond = Effect.fnUntraced(function* (
        answer: RunningAnswer,
        id: string,
        prepared: PreparedRequest,
        stream: Stream,
        finish: Effect.Effect<void>
      ) {
        const created = yield* Clock.currentTimeMillis
        yield* answer.ready
        // Nothing was sent yet: a failure is answered with its status.
        const early = answer.end()
        if (early !== undefined && Exit.isFailure(early)) yield* Effect.zipRight(finish, early)
        if (prepared.stream) {
          const events = new CompletionEvents(headOf(id, created, answer.modelId()), prepared.includeUsage)
          return yield* stream.send((writer) => sendAll(answer, events, writer, finish))
        }
        const parts: Array<AnswerPart> = []
        while (true) {
          yield* answer.ready
          const end = answer.end()
          parts.push(...answer.take())
          if (end === undefined) continue
          yield* finish
          return completionOf(headOf(id, created, answer.modelId()), parts, yield* end)
        }
      })

      const answerTo = (id: string, prepared: PreparedRequest, stream: Stream, finish: Effect.Effect<void>) =>
        Effect.acquireUseRelease(
          start(prepared),
          (answer) => respond(answer, id, prepared, stream, finish),
          ({ stop }) => stop
        )

      return {
        isAvailable: models.length > 0,
        complete: (org, body, stream) =>
          Effect.flatMap(newChatCompletionId, (id) =>
            Effect.flatMap(prepare(id, body), (prepared) =>
              limits.within(org, id)(({ finish }) => answerTo(id, prepared, stream, finish))
            )
          )
      }
    })
  )
}
