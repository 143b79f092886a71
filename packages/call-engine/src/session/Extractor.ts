import { readJson } from "@svc/api/JsonLimits"
import type { CommandOf } from "@svc/conversation/Command"
import type { LanguageModel, ModelDelta } from "@svc/providers/LanguageModel"
import { type Context, Data, Effect } from "effect"
import type { Feed } from "./ConversationServices.ts"
import { reasonOf } from "./Failure.ts"
import { requestFor } from "./ModelChoice.ts"
import { noTokens, usageOf } from "./ModelUsage.ts"

/** The longest answer that is read, in characters. */
const longestAnswer = 65_536

/** No model gave a usable answer; `reason` is one plain sentence. */
class NothingExtracted extends Data.TaggedError("NothingExtracted")<{ readonly reason: string }> {}

/** The JSON Schema of the extracted data: an object with all fields, each of its type or null. */
export const responseSchemaOf = (fields: CommandOf<"Extract">["fields"]) => ({
  type: "object",
  properties: Object.fromEntries(fields.map(({ name, type, ...more }) => [name, { type: [type, "null"], ...more }])),
  required: fields.map(({ name }) => name),
  additionalProperties: false
})

/** The JSON object in a model's answer, which may be in a fenced block or between other text. */
const objectIn = (answer: string): Effect.Effect<unknown, NothingExtracted> =>
  Effect.mapError(
    readJson(Buffer.from(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)), "lenient"),
    ({ excess }) =>
      new NothingExtracted({
        reason: excess === undefined ? "the model's answer is not a JSON object" : `the model's answer ${excess}`
      })
  )

/**
 * Carries out `Extract` with the language models, the next one when one fails, and feeds the outcome back. The
 * conversation sets the time limit.
 */
export const extraction = (options: {
  readonly callId: string
  readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
  readonly variables: { readonly [name: string]: string }
  readonly feed: Feed
}): ((command: CommandOf<"Extract">) => Effect.Effect<void>) => {
  const { callId, feed, models, variables } = options
  return ({ fields, messages }) => {
    const request = { callId, messages, tools: [], responseSchema: responseSchemaOf(fields), variables }
    const ask = (model: Context.Tag.Service<LanguageModel>, index: number) =>
      Effect.suspend(() => {
        let answer = ""
        const countUsage = usageOf((usage) => feed({ _tag: "ModelUsed", ...usage }))
        if (index > 0) feed({ _tag: "ModelUsed", ...noTokens, is_retry: true })
        const onDelta = (delta: ModelDelta): void => {
          countUsage(delta)
          if (delta._tag === "Text" && answer.length <= longestAnswer) answer += delta.text
        }
        return model.generate(requestFor(model, request), onDelta).pipe(
          Effect.sandbox,
          Effect.mapError((cause) => new NothingExtracted({ reason: reasonOf(cause) })),
          Effect.flatMap(() =>
            answer.length > longestAnswer
              ? new NothingExtracted({ reason: "the model's answer is too long" })
              : objectIn(answer)
          )
        )
      })
    return Effect.match(Effect.firstSuccessOf(models.map(ask)), {
      onSuccess: (answer) => feed({ _tag: "Extracted", answer }),
      onFailure: ({ reason }) => feed({ _tag: "ExtractionFailed", reason })
    })
  }
}
