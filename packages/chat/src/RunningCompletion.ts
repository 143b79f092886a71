import type { ChatCompletion } from "@svc/api/chat/ChatCompletion"
import { toChatErrorBody } from "@svc/api/chat/ChatError"
import { type EventStream, type OpenStream, Streamed } from "@svc/api/EventStream"
import { Unavailable } from "@svc/api/VoiceError"
import type { LoadedLanguageModel } from "@svc/providers/LoadedLanguageModel"
import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import { Cause, type Context, Data, Effect, Exit, type Fiber, FiberId, Option, Runtime } from "effect"
import { type AnswerEnd, type AnswerPart, generate } from "./Answers.ts"
import { CompletionEvents, completionOf, headOf } from "./Completions.ts"
import type { PreparedRequest } from "./PreparedRequest.ts"

/** How long a client may take to read what was sent last, before its connection is cut. */
const slowestRead = "30 seconds"

/** Characters of a piece that are sent without waiting until the client has them. */
const unwaited = 16_384

/** The longest time of one answer, however steadily it grows. */
export const longestTime = "10 minutes"

/** The client did not read for that long. */
class ClientStalled extends Data.TaggedError("ClientStalled")<{}> {}

type Outcome = Exit.Exit<ChatCompletion | Streamed, Unavailable>

export interface CompletionOptions {
  readonly id: string
  /** Milliseconds. */
  readonly created: number
  readonly prepared: PreparedRequest
  readonly models: ReadonlyArray<LoadedLanguageModel>
  readonly stream: Context.Tag.Service<EventStream>
  /** That of the request's fiber. */
  readonly runtime: Runtime.Runtime<never>
  /** Its length is {@link longestTime}. */
  readonly timeLimit: SharedTimeout
  /** Ends the count of running completions; see `ChatLimits`. */
  readonly finish: () => Effect.Effect<void> | undefined
  /** Called once, unless the completion is stopped before. */
  readonly onOutcome: (outcome: Outcome) => void
}

/**
 * A completion while it is made and sent. It uses callbacks, because fibers that wait for each other take more steps and
 * memory on the way to the first token.
 */
export class RunningCompletion {
  readonly #options: CompletionOptions
  /** The parts that are not sent; neighbouring texts are one. */
  #parts: Array<AnswerPart> = []
  #end: Exit.Exit<AnswerEnd, Unavailable> | undefined
  /** The model that answers; known with its first part, or its end. */
  #modelId = ""
  #opened: { readonly stream: OpenStream; readonly events: CompletionEvents } | undefined
  #isScheduled = false
  /** The wait before more is sent: for a slow client, or for other servers. */
  #waiting: Fiber.RuntimeFiber<unknown, unknown> | undefined
  #isOver = false
  readonly #stopModel: () => void
  readonly #stopWatching: () => void

  /** Begins to answer. */
  constructor(options: CompletionOptions) {
    this.#options = options
    const { models, prepared, runtime, timeLimit } = options
    const started = timeLimit.now()
    this.#stopWatching = timeLimit.watch(
      () => started,
      () => this.#onEnd(Exit.fail(new Unavailable({ message: `The answer took longer than ${longestTime}` })))
    )
    this.#stopModel = generate(models, prepared, runtime, {
      onPart: (model, part) => {
        if (this.#end !== undefined) return
        this.#modelId = model.id
        const last = this.#parts.at(-1)
        if (part._tag === "Text" && last?._tag === "Text") {
          this.#parts[this.#parts.length - 1] = { _tag: "Text", text: last.text + part.text }
        } else this.#parts.push(part)
        if (prepared.stream) this.#schedule()
      },
      onEnd: (exit) => {
        if (this.#end === undefined && Exit.isSuccess(exit)) this.#modelId = exit.value.model.id
        this.#onEnd(exit)
      }
    })
  }

  /** Stops the model, and cuts the stream if there is one. After the outcome it does nothing. */
  stop(): void {
    if (this.#isOver) return
    this.#close()
    this.#waiting?.unsafeInterruptAsFork(FiberId.none)
    this.#opened?.stream.cut()
  }

  #close(): void {
    this.#isOver = true
    this.#stopWatching()
    this.#stopModel()
  }

  #complete(outcome: Outcome): void {
    if (this.#isOver) return
    this.#close()
    this.#options.onOutcome(outcome)
  }

  /** A defect, such as a head that node refuses, must reach the request's fiber: nothing above a callback handles it. */
  #guarded(work: () => void): void {
    try {
      work()
    } catch (defect) {
      this.#opened?.stream.cut()
      this.#complete(Exit.die(defect))
    }
  }

  #onEnd(exit: Exit.Exit<AnswerEnd, Unavailable>): void {
    if (this.#end !== undefined) return
    this.#end = exit
    // Stops a model that goes on after its answer was cut; not at once, because the model may just be starting.
    queueMicrotask(() => this.#guarded(() => this.#stopModel()))
    this.#schedule()
  }

  /** Goes on after the synchronous work that called this: parts that come together are sent together. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting !== undefined) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      if (!this.#isOver) this.#guarded(() => this.#advance())
    })
  }

  #advance(): void {
    const { prepared } = this.#options
    const end = this.#end
    const hasParts = this.#opened !== undefined || this.#parts.length > 0
    if (prepared.stream && (hasParts || end === undefined || Exit.isSuccess(end))) this.#sendParts()
    else if (end !== undefined) {
      // A failure before the first part is answered with its status.
      this.#afterFinish(() => this.#complete(Exit.map(end, (value) => completionOf(this.#head(), this.#parts, value))))
    }
  }

  #head() {
    const { created, id } = this.#options
    return headOf(id, created, this.#modelId)
  }

  /** A slow client gets longer texts: what waits for it is one answer at the most. */
  #sendParts(): void {
    let text = ""
    if (this.#opened === undefined) {
      const events = new CompletionEvents(this.#head(), this.#options.prepared.includeUsage)
      text = events.begin()
      const stream = this.#options.stream.open()
      if (stream === undefined) {
        this.#complete(Exit.succeed(new Streamed()))
        return
      }
      this.#opened = { stream, events }
    }
    const { events, stream } = this.#opened
    for (const part of this.#parts) text += events.part(part)
    this.#parts = []
    const end = this.#end
    if (end === undefined) {
      this.#send(stream, text, () => {
        if (this.#parts.length > 0 || this.#end !== undefined) this.#schedule()
      })
      return
    }
    // Other servers may be late to know that the answer has ended: only its last events wait for them.
    if (text !== "" && this.#isLittle(stream, text)) {
      stream.push(text)
      text = ""
    }
    this.#afterFinish(() => {
      const last = Exit.match(end, {
        onSuccess: (value) => events.end(value),
        onFailure: (cause) =>
          events.failure(toChatErrorBody(Option.getOrElse(Cause.failureOption(cause), () => new Unavailable())))
      })
      this.#send(stream, text + last, () => {
        stream.end()
        this.#complete(Exit.succeed(new Streamed()))
      })
    })
  }

  /** Whether a text may be sent without waiting for the client, which is faster. */
  #isLittle(stream: OpenStream, text: string): boolean {
    return text.length <= unwaited && !stream.isBehind()
  }

  #send(stream: OpenStream, text: string, next: () => void): void {
    if (this.#isLittle(stream, text)) {
      stream.push(text)
      next()
      return
    }
    this.#wait(
      Effect.timeoutFail(stream.write(text), { duration: slowestRead, onTimeout: () => new ClientStalled() }),
      (exit) => {
        if (Exit.isSuccess(exit)) next()
        else {
          stream.cut()
          this.#complete(Exit.succeed(new Streamed()))
        }
      }
    )
  }

  #afterFinish(next: () => void): void {
    const known = this.#options.finish()
    if (known === undefined) next()
    else this.#wait(known, next)
  }

  #wait<E>(effect: Effect.Effect<void, E>, next: (exit: Exit.Exit<void, E>) => void): void {
    const fiber = Runtime.runFork(this.#options.runtime)(effect, { immediate: false })
    this.#waiting = fiber
    fiber.addObserver((exit) => {
      this.#waiting = undefined
      if (!this.#isOver) this.#guarded(() => next(exit))
    })
  }
}
