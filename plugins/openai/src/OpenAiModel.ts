import type { Host } from "@svc/providers/Host"
import { LanguageModel, LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import { RequestFailed } from "@svc/providers/RequestFailed"
import { type Context, Duration, Effect, Option, type Scope } from "effect"
import { chatRequest, type Dialect, initialDialect, withoutRefused } from "./ChatRequest.ts"
import { ChatStream } from "./ChatStream.ts"
import { EventStream } from "./EventStream.ts"
import type { ModelList } from "./ModelList.ts"
import type { Answer, OpenAiClient } from "./OpenAiClient.ts"

type Service = Context.Tag.Service<LanguageModel>

export interface ModelOptions {
  readonly client: OpenAiClient
  readonly list: ModelList
  /** Preferred first. Empty: those of the server. */
  readonly models: ReadonlyArray<string>
  /** Of every model, where the operator knows better than the server. */
  readonly contextTokens: number | undefined
  readonly isOpenAi: boolean
  readonly host: Host
}

/** A caller does not wait longer for a server that asks for a pause. */
const retryWithin = Duration.seconds(5)
/** How long usage is waited for after the last word, and the end of the answer after that. */
const usageWait = Duration.millis(500)
const endWait = Duration.millis(100)
/** How often one request may be changed to what a server accepts. */
const mostChanges = 6

/** Models of other tasks, which servers list as well. */
const otherTasks = /embed|whisper|tts|dall-e|image|moderation|transcribe|realtime|audio|sora|rerank|davinci|babbage/i

const failed = (reason: string, retryable = true) => new RequestFailed({ reason, retryable })

/** Reads an answer into deltas. */
const readAnswer = Effect.fnUntraced(function* ({ contentType, next }: Answer, onDelta: (delta: ModelDelta) => void) {
  const chat = new ChatStream(onDelta)
  const events = new EventStream()
  const isWhole = contentType.includes("application/json")
  const body: Array<Buffer> = []
  const take = (data: ReadonlyArray<string> | undefined) =>
    Effect.suspend(() => {
      if (data === undefined) return failed("the answer is no stream of events")
      for (const one of data) {
        if (chat.hasEnded) break
        const problem = chat.push(one)
        if (problem !== undefined) return failed(problem)
      }
      return Effect.void
    })
  /** Undefined when nothing came although the answer is complete. */
  const more = Effect.suspend(() =>
    chat.isFinished ? Effect.map(Effect.timeoutOption(next, usageWait), Option.getOrUndefined) : next
  )
  let isRead = false
  while (!chat.hasEnded && !(chat.isFinished && chat.hasUsage)) {
    const bytes = yield* more
    if (bytes === undefined) break
    if (bytes === null) {
      isRead = true
      yield* take(isWhole ? [Buffer.concat(body).toString("utf8")] : events.end())
      break
    }
    if (isWhole) body.push(bytes)
    else yield* take(events.push(bytes))
  }
  const problem = chat.end()
  if (problem !== undefined) return yield* failed(problem)
  // A connection is used again only when its answer was read to the end.
  const rest = Effect.repeat(next, { until: (bytes) => bytes === null })
  if (!isRead) yield* rest.pipe(Effect.timeout(endWait), Effect.ignore)
})

/** The language model of a server. */
export const make = ({ client, contextTokens, host, isOpenAi, list, models }: ModelOptions): Effect.Effect<Service> =>
  Effect.sync(() => {
    const dialects = new Map<string, Dialect>()
    const tokens = (kind: string) =>
      host.metrics.counter("tokens", {
        description: "Tokens of language models, as the server counts them",
        tags: { kind }
      })
    const [input, cached, output] = [tokens("input"), tokens("cached_input"), tokens("output")]
    const names = () => {
      const listed = list.names()
      const chat = listed.filter((name) => !otherTasks.test(name))
      const all = [...new Set([...models, ...chat])]
      return all.length > 0 ? all : listed
    }

    /** Sends the request, and again without what the server refuses. */
    const ask = (
      request: Parameters<Service["generate"]>[0],
      model: string,
      changes = 0
    ): Effect.Effect<Answer, RequestFailed, Scope.Scope> =>
      Effect.suspend(() => {
        const dialect = dialects.get(model) ?? initialDialect(isOpenAi)
        const body = JSON.stringify(chatRequest(request, model, dialect))
        return client
          .send({ method: "POST", path: "/chat/completions", contentType: "application/json", body, retryWithin })
          .pipe(
            Effect.catchIf(
              ({ status }) => (status === 400 || status === 422 || status === 500) && changes < mostChanges,
              (failure) => {
                const accepted = withoutRefused(dialect, failure.reason)
                if (accepted === undefined) return failure
                dialects.set(model, accepted)
                return ask(request, model, changes + 1)
              }
            )
          )
      })

    const generate: Service["generate"] = Effect.fnUntraced(
      function* (request, onDelta) {
        const model = request.model ?? names()[0]
        if (model === undefined) return yield* failed("no model is known: set SVC_OPENAI_MODEL")
        const answer = yield* ask(request, model)
        yield* readAnswer(answer, (delta) => {
          if (delta._tag === "Usage") {
            input.add(delta.inputTokens)
            cached.add(delta.cachedInputTokens ?? 0)
            output.add(delta.outputTokens)
          }
          onDelta(delta)
        })
      },
      Effect.scoped,
      // An error may stand in the stream, and servers repeat keys there too.
      Effect.mapError(
        ({ reason, retryable }) => new LanguageModelError({ reason: client.failures.shown(reason), retryable })
      )
    )

    return LanguageModel.of({
      id: "openai",
      get models() {
        return names()
      },
      contextTokens: (model) => contextTokens ?? list.contextTokens(model),
      health: list.health,
      prepare: () => list.warm,
      generate
    })
  })
