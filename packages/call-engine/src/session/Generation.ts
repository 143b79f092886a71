import { yieldThread } from "@svc/api/JsonLimits"
import { endCall } from "@svc/conversation/answers/PlatformTools"
import type { CommandOf } from "@svc/conversation/Command"
import type { InputOf } from "@svc/conversation/Input"
import { spaceBetween } from "@svc/conversation/SpokenText"
import type { LanguageModel, ModelDelta, ModelMessage, ModelToolCall } from "@svc/providers/LanguageModel"
import { ThoughtFilter } from "@svc/providers/ThoughtFilter"
import { type Context, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"
import { chooseModel, named, requestFor } from "./ModelChoice.ts"
import { type ModelUsage, noTokens, usageOf } from "./ModelUsage.ts"
import { isLarge, preparedPart } from "./PreparedInput.ts"
import { type Piece, SentenceSplitter } from "./SentenceSplitter.ts"

/** How deep the arguments are in the input `ModelToolCalls`: in a call, in the list of calls. */
const argumentsLevel = 3

/** The largest result of a tool that a provider gets in the turn of the event loop in which it came, in characters. */
const smallCharacters = 16 * 1024

const hasLargeResult = (messages: ReadonlyArray<ModelMessage>): boolean =>
  messages.some(({ content, role }) => role === "tool" && content.length > smallCharacters)

/** Why a model stopped before the end of its answer: the limit of tokens, or its provider's filter. */
type AnswerCut = NonNullable<InputOf<"ModelDone">["cut"]>

/** Receives the output of the model. */
export interface GenerationListener {
  readonly onStarted: (turn: number) => void
  /** `space`: the white space before it, where that is not one space, as `spaceBetween` has it. */
  readonly onSentence: (turn: number, text: string, space?: string) => void
  /** Complete calls, in their order: each as soon as the model has given it. */
  readonly onToolCalls: (turn: number, calls: ReadonlyArray<ModelToolCall>) => void
  /** Of any request, also one that was cancelled since. */
  readonly onUsage: (usage: ModelUsage) => void
  /** `cut`: why the answer has no end. */
  readonly onDone: (turn: number, cut?: AnswerCut) => void
  readonly onFailed: (turn: number, reason: string) => void
}

/**
 * Whether a tool call is reported while the model goes on. `end_call` is not, because what the model says after it belongs
 * to the farewell; nor are calls with large arguments, which must be prepared first. Calls after such a one wait as well,
 * so that their order stays.
 */
const startsAtOnce = (call: ModelToolCall): boolean => call.name !== endCall && !isLarge(call.arguments)

/** The language model of a call: one generation at a time, and beside it one whose answer is held. */
export interface Generation {
  /** Starts a generation, or adopts the held answer that the command names. */
  readonly ask: (command: CommandOf<"AskModel">) => void
  readonly cancel: () => void
  /** Starts a generation whose answer is held until `ask` adopts it. Its failure is not reported. */
  readonly askAhead: (command: CommandOf<"AskAhead">) => void
  readonly dropAhead: () => void
}

/** The longest answer that is held, in characters of its text and of the arguments of its tool calls. */
export const maxHeld = 32_768
/** A held answer that has given nothing for so long is not adopted: its model seems to hang, and is asked again. */
export const silentMs = 3000

/** Takes the output of a generation: passes it on as that of a turn or, before the turn is known, holds it. */
class Output {
  readonly #held: Array<(turn: number) => void> = []
  #turn: number | undefined
  #size = 0
  readonly #onTooLong: () => void
  /** The held answer is of no use any more: it failed, or it is too long. */
  unusable = false

  constructor(turn: number | undefined, onTooLong: () => void = () => {}) {
    this.#turn = turn
    this.#onTooLong = onTooLong
  }

  get isHeld(): boolean {
    return this.#turn === undefined
  }

  get isEmpty(): boolean {
    return this.#held.length === 0
  }

  /** `size`: characters. */
  emit(event: (turn: number) => void, size = 0): void {
    if (this.#turn !== undefined) event(this.#turn)
    else {
      this.grow(size)
      this.#held.push(event)
    }
  }

  /** Counts characters that are held. */
  grow(size: number): void {
    if (this.unusable || !this.isHeld) return
    this.#size += size
    if (this.#size <= maxHeld) return
    this.unusable = true
    this.#onTooLong()
  }

  /** Passes on what was held, and from now on everything. */
  adopt(turn: number): void {
    this.#turn = turn
    for (const event of this.#held) event(turn)
  }
}

export const make = (options: {
  readonly callId: string
  /** In the order of preference. The conversation chooses, and falls back. */
  readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
  readonly variables: { readonly [name: string]: string }
  readonly listener: GenerationListener
  /** The call's time, in milliseconds. */
  readonly now: () => number
}): Effect.Effect<Generation, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { listener } = options
    /** The generation, and the one whose answer is held; an adopted answer changes places with the generation. */
    const handles = [yield* FiberHandle.make<void>(), yield* FiberHandle.make<void>()]
    const [one, other] = yield* Effect.forEach(handles, (handle) => FiberHandle.runtime(handle)<never>())
    if (one === undefined || other === undefined) return yield* Effect.dieMessage("there are two handles")
    let [run, runAhead] = [one, other]
    let held: { readonly id: string; readonly output: Output; readonly asked_at: number } | undefined
    const isUsable = ({ asked_at, output }: NonNullable<typeof held>): boolean =>
      !output.unusable && !(output.isEmpty && options.now() - asked_at >= silentMs)

    const generate = (command: CommandOf<"AskModel" | "AskAhead">, output: Output): Effect.Effect<void> =>
      Effect.suspend(() => {
        const splitter = new SentenceSplitter()
        const thoughts = new ThoughtFilter()
        /** Calls that wait for the end; see `startsAtOnce`. */
        const waiting: Array<ModelToolCall> = []
        const countUsage = usageOf(listener.onUsage)
        let started = false
        let cut: AnswerCut | undefined
        let before = ""
        const sentence = ({ space, text }: Piece): void => {
          const isUsual = space === spaceBetween(before, text)
          before = text
          output.emit(
            (turn) => listener.onSentence(turn, text, ...(isUsual ? [] : [space])),
            text.length + space.length
          )
        }
        const onDelta = (delta: ModelDelta): void => {
          countUsage(delta)
          if (delta._tag === "Done" && (delta.reason === "length" || delta.reason === "content_filter"))
            cut = delta.reason
          if (output.unusable || (delta._tag !== "Text" && delta._tag !== "ToolCall")) return
          if (!started) {
            started = true
            output.emit(listener.onStarted)
          }
          if (delta._tag === "Text") {
            for (const piece of splitter.push(thoughts.push(delta.text))) sentence(piece)
            return
          }
          const { call } = delta
          if (output.isHeld) output.grow(JSON.stringify(call.arguments).length)
          if (waiting.length > 0 || !startsAtOnce(call)) {
            waiting.push(call)
            return
          }
          // What was said before the call is complete with it.
          endSentence()
          output.emit((turn) => listener.onToolCalls(turn, [call]))
        }
        const endSentence = (): void => {
          const rest = splitter.rest(cut !== undefined)
          if (rest !== null) sentence(rest)
        }
        const flush = Effect.suspend(() => {
          for (const piece of splitter.push(thoughts.end())) sentence(piece)
          endSentence()
          if (waiting.length === 0) return Effect.void
          return Effect.map(
            Effect.forEach(waiting, (call) =>
              Effect.map(preparedPart(call.arguments, argumentsLevel), (args) => ({ ...call, arguments: args }))
            ),
            (prepared) => output.emit((turn) => listener.onToolCalls(turn, prepared))
          )
        })
        const request = {
          callId: options.callId,
          messages: command.messages,
          tools: command.tools,
          variables: options.variables,
          ...(command.temperature === undefined ? {} : { temperature: command.temperature }),
          ...(command.max_tokens === undefined ? {} : { maxOutputTokens: command.max_tokens })
        }
        const model = chooseModel(options.models, command)
        if (model === undefined) return Effect.die(new Error("no language model is loaded"))
        const generated = Effect.tapError(
          model.generate(requestFor(model, { ...request, ...named(model, command) }), onDelta),
          (error) => Effect.logWarning(`Language model ${model.id} failed: ${error.reason}`)
        )
        return Effect.matchCauseEffect(generated, {
          onSuccess: () =>
            Effect.map(flush, () => output.emit((turn) => listener.onDone(turn, ...(cut === undefined ? [] : [cut])))),
          onFailure: (cause) => {
            output.unusable = output.isHeld
            return Effect.map(flush, () => output.emit((turn) => listener.onFailed(turn, reasonOf(cause))))
          }
        })
      })

    const dropAhead = (): void => {
      held = undefined
      runAhead(Effect.void)
    }

    return {
      ask: (command) => {
        if (held === undefined || held.id !== command.ahead || !isUsable(held)) {
          if (held !== undefined) dropAhead()
          // The conversation counts no request for an answer that is adopted.
          if (command.ahead !== undefined) listener.onUsage({ ...noTokens, is_retry: true })
          const generated = generate(command, new Output(command.turn))
          run(hasLargeResult(command.messages) ? Effect.zipRight(yieldThread, generated) : generated)
          return
        }
        run(Effect.void)
        ;[run, runAhead] = [runAhead, run]
        const { output } = held
        held = undefined
        output.adopt(command.turn)
      },
      cancel: () => {
        run(Effect.void)
      },
      askAhead: (command) => {
        const output = new Output(undefined, () => runAhead(Effect.void))
        held = { id: command.id, output, asked_at: options.now() }
        runAhead(generate(command, output))
      },
      dropAhead
    }
  })
