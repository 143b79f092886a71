import type { CommandOf } from "@svc/conversation/Command"
import type { LanguageModel, ModelDelta, ModelToolCall } from "@svc/providers/LanguageModel"
import { type Context, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"
import { preparedPart } from "./PreparedInput.ts"
import { SentenceSplitter } from "./SentenceSplitter.ts"
import { ThoughtFilter } from "./ThoughtFilter.ts"

/** How deep the arguments are in the input `ModelToolCalls`: in a call, in the list of calls. */
const argumentsLevel = 3

/** Receives the output of the model. */
export interface GenerationListener {
  readonly onStarted: (turn: number) => void
  readonly onSentence: (turn: number, text: string) => void
  readonly onToolCalls: (turn: number, calls: ReadonlyArray<ModelToolCall>) => void
  readonly onDone: (turn: number) => void
  readonly onFailed: (turn: number, reason: string) => void
}

type Model = Context.Tag.Service<LanguageModel>

/**
 * The provider of a generation: the first that offers the named model, else the preferred one; fallbacks (`provider` from
 * 1) are the others in order.
 */
const chooseModel = (
  models: ReadonlyArray<Model>,
  { model, provider = 0 }: Pick<CommandOf<"AskModel">, "model" | "provider">
): Model | undefined => {
  const first = models.find((one) => model !== undefined && one.models.includes(model)) ?? models[0]
  const others = models.filter((one) => one !== first)
  return [first, ...others][Math.min(provider, models.length - 1)]
}

/** The name for the request, where the provider offers it: a fallback uses its own preferred model. */
const named = ({ models }: Model, { model }: Pick<CommandOf<"AskModel">, "model">) =>
  model !== undefined && models.includes(model) ? { model } : {}

/** The language model of a call: one generation at a time. */
export interface Generation {
  readonly ask: (command: CommandOf<"AskModel">) => void
  readonly cancel: () => void
}

export const make = (options: {
  readonly callId: string
  /** In the order of preference. The conversation chooses, and falls back. */
  readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
  readonly variables: { readonly [name: string]: string }
  readonly listener: GenerationListener
}): Effect.Effect<Generation, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { listener } = options
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()

    const generate = (command: CommandOf<"AskModel">): Effect.Effect<void> =>
      Effect.suspend(() => {
        const { turn } = command
        const splitter = new SentenceSplitter()
        const thoughts = new ThoughtFilter()
        const calls: Array<ModelToolCall> = []
        let started = false
        const onDelta = (delta: ModelDelta): void => {
          if (delta._tag !== "Text" && delta._tag !== "ToolCall") return
          if (!started) {
            started = true
            listener.onStarted(turn)
          }
          if (delta._tag === "ToolCall") calls.push(delta.call)
          else for (const sentence of splitter.push(thoughts.push(delta.text))) listener.onSentence(turn, sentence)
        }
        const flush = Effect.gen(function* () {
          for (const sentence of splitter.push(thoughts.rest())) listener.onSentence(turn, sentence)
          const rest = splitter.rest()
          if (rest !== null) listener.onSentence(turn, rest)
          if (calls.length === 0) return
          const prepared: Array<ModelToolCall> = []
          for (const each of calls)
            prepared.push({ ...each, arguments: yield* preparedPart(each.arguments, argumentsLevel) })
          listener.onToolCalls(turn, prepared)
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
        const generated = Effect.tapError(model.generate({ ...request, ...named(model, command) }, onDelta), (error) =>
          Effect.logWarning(`Language model ${model.id} failed: ${error.reason}`)
        )
        return Effect.matchCauseEffect(generated, {
          onSuccess: () => Effect.map(flush, () => listener.onDone(turn)),
          onFailure: (cause) => Effect.map(flush, () => listener.onFailed(turn, reasonOf(cause)))
        })
      })

    return {
      ask: (command) => {
        run(generate(command))
      },
      cancel: () => {
        run(Effect.void)
      }
    }
  })
