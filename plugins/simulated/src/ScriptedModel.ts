import { healthy } from "@svc/providers/Health"
import { LanguageModel, LanguageModelError, type ModelDelta, type ModelRequest } from "@svc/providers/LanguageModel"
import { Effect, Either, Layer } from "effect"
import { CallRealism } from "./Realism/CallRealism.ts"
import { readScript, type Script } from "./ScriptedModel/Script.ts"
import { extractFrom, replyTo, replyWithoutScript, type ScriptReply } from "./ScriptedModel/ScriptReply.ts"

const withoutScript: Script = { rules: [] }

/** Parsed scripts by their prompt, because the prompt is the same in every turn of a call. */
const scripts = new Map<string, Either.Either<Script, string>>()
const maxScripts = 64

const promptOf = ({ messages }: ModelRequest): string =>
  messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n\n")

const scriptIn = (prompt: string): Either.Either<Script, string> => {
  const known = scripts.get(prompt)
  if (known !== undefined) return known
  const read = Either.map(readScript(prompt), (script) => script ?? withoutScript)
  if (scripts.size >= maxScripts) scripts.clear()
  scripts.set(prompt, read)
  return read
}

const fail = (reason: string) => Effect.fail(new LanguageModelError({ reason, retryable: false }))

/** The approximate number of tokens of a real model. */
const tokens = (text: string): number => Math.ceil(text.length / 4)

const reply = (
  script: Script,
  request: ModelRequest,
  isEmpty: boolean
): Effect.Effect<ScriptReply, LanguageModelError> =>
  Effect.try({
    try: () =>
      isEmpty
        ? { text: "", calls: [] }
        : request.responseSchema === undefined
          ? script === withoutScript
            ? replyWithoutScript(request)
            : replyTo(script, request)
          : { text: extractFrom(script, request), calls: [] },
    catch: (error) =>
      new LanguageModelError({ reason: error instanceof Error ? error.message : String(error), retryable: false })
  })

/** Emits the text at once or word by word. */
const speak = (text: string, perSecond: number, onDelta: (delta: ModelDelta) => void): Effect.Effect<void> => {
  if (text === "") return Effect.void
  if (perSecond === 0) return Effect.sync(() => onDelta({ _tag: "Text", text }))
  return Effect.forEach(
    text.match(/\s*\S+\s*|\s+/g) ?? [],
    (word, index) =>
      Effect.zipRight(
        index === 0 ? Effect.void : Effect.sleep(1000 / perSecond),
        Effect.sync(() => onDelta({ _tag: "Text", text: word }))
      ),
    { discard: true }
  )
}

/** An answer within the request's limits. */
interface LimitedReply extends ScriptReply {
  /** Whether the end is missing. */
  readonly isCut: boolean
}

const limited = ({ maxOutputTokens, toolChoice, tools }: ModelRequest, answer: ScriptReply): LimitedReply => {
  if (maxOutputTokens !== undefined && tokens(answer.text) > maxOutputTokens) {
    return { text: answer.text.slice(0, maxOutputTokens * 4), calls: [], isCut: true }
  }
  const [first] = tools
  const mustCall = toolChoice === "required" && answer.calls.length === 0 && first !== undefined
  return mustCall
    ? { text: "", calls: [{ name: first.name, arguments: {} }], isCut: false }
    : { ...answer, isCut: false }
}

const finish = (
  request: ModelRequest,
  { calls, isCut, text }: LimitedReply,
  onDelta: (delta: ModelDelta) => void
): void => {
  // Ids differ between turns, and are the same when a request is repeated.
  for (const [index, call] of calls.entries()) {
    onDelta({ _tag: "ToolCall", call: { id: `call_${request.messages.length}_${index + 1}`, ...call } })
  }
  const inputTokens = request.messages.reduce((sum, { content }) => sum + tokens(content), 0)
  onDelta({ _tag: "Usage", inputTokens, outputTokens: tokens(text) })
  onDelta({ _tag: "Done", reason: isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop" })
}

/** How the n-th request of a call fails, if it does. */
const failureOf = ({ fail, providers: { model } = {} }: Script, n: () => number): Script["fail"] => {
  if (fail !== undefined || model?.fail_every === undefined) return fail ?? model?.fail
  return n() % model.fail_every === 0 ? (model.fail ?? "error") : undefined
}

/**
 * A language model that follows the script in its system prompt (`ScriptedModel/Script.ts`). It has no state, but for the
 * count of `fail_every`: the same request gets the same answer. A rule may call tools that were not offered, as real
 * models sometimes do. Without a script it runs tools by the words `use <tool> with <json>`, and answers other words by
 * `You said: …`. A token counts as 4 characters. When the request demands a tool call and the script has none, it calls
 * the first tool without arguments. To prepare it hands the script's `providers` to the other providers of the call.
 */
export const ScriptedModel: Layer.Layer<LanguageModel, never, CallRealism> = Layer.effect(
  LanguageModel,
  Effect.gen(function* () {
    const realism = yield* CallRealism
    return {
      id: "simulated",
      models: ["scripted"],
      health: Effect.succeed(healthy),
      // Without an asynchronous step, so that the other providers know it in time.
      prepare: ({ callId, systemPrompt }) =>
        Effect.suspend(() => {
          const read = scriptIn(systemPrompt)
          realism.set(callId, Either.isRight(read) ? read.right.providers : undefined)
          return Either.isLeft(read) ? fail(read.left) : Effect.void
        }),
      generate: Effect.fnUntraced(function* (request, onDelta) {
        const read = scriptIn(promptOf(request))
        if (Either.isLeft(read)) return yield* fail(read.left)
        const script = read.right
        const { model } = script.providers ?? {}
        const failure = failureOf(script, () => realism.count(request.callId, "request"))
        const wait = model?.first_token_ms ?? script.first_token_ms ?? 0
        if (wait > 0) yield* Effect.sleep(wait)
        if (failure === "error") return yield* fail("the script tells the model to fail")
        if (failure === "hang") return yield* Effect.never
        const answer = limited(request, yield* reply(script, request, failure === "empty"))
        yield* speak(answer.text, model?.tokens_per_second ?? script.tokens_per_second ?? 0, onDelta)
        yield* Effect.sync(() => finish(request, answer, onDelta))
      })
    }
  })
)
