import type { CommandOf } from "@svc/conversation/Command"
import type { LanguageModel, ModelDelta } from "@svc/providers/LanguageModel"
import { type Context, Data, Effect } from "effect"
import { reasonOf } from "./Failure.ts"

/** The longest answer that is read, in characters. */
const longestAnswer = 65_536

/** No model gave an answer that can be read; `reason` is one plain sentence. */
export class NothingExtracted extends Data.TaggedError("NothingExtracted")<{ readonly reason: string }> {}

/** The JSON Schema of what is drawn from a call: an object with all fields, each of its type or null. */
export const responseSchemaOf = (fields: CommandOf<"Extract">["fields"]) => ({
  type: "object",
  properties: Object.fromEntries(fields.map(({ name, type, ...more }) => [name, { type: [type, "null"], ...more }])),
  required: fields.map(({ name }) => name),
  additionalProperties: false
})

/** The JSON object in a model's answer, which may stand in a fenced block or among words. */
const objectIn = (answer: string): Effect.Effect<unknown, NothingExtracted> =>
  Effect.try({
    try: (): unknown => JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)),
    catch: () => new NothingExtracted({ reason: "the model's answer is not a JSON object" })
  })

/** Draws values from a call by its language models: each is asked when those before it failed. The caller keeps the time. */
export const extract =
  (options: {
    readonly callId: string
    readonly models: ReadonlyArray<Context.Tag.Service<LanguageModel>>
    readonly variables: { readonly [name: string]: string }
  }) =>
  ({ fields, messages }: CommandOf<"Extract">): Effect.Effect<unknown, NothingExtracted> => {
    const request = {
      callId: options.callId,
      messages,
      tools: [],
      responseSchema: responseSchemaOf(fields),
      variables: options.variables
    }
    const ask = (model: Context.Tag.Service<LanguageModel>) =>
      Effect.suspend(() => {
        let answer = ""
        const onDelta = (delta: ModelDelta): void => {
          if (delta._tag === "Text" && answer.length <= longestAnswer) answer += delta.text
        }
        return model.generate(request, onDelta).pipe(
          Effect.sandbox,
          Effect.mapError((cause) => new NothingExtracted({ reason: reasonOf(cause) })),
          Effect.flatMap(() =>
            answer.length > longestAnswer
              ? new NothingExtracted({ reason: "the model's answer is too long" })
              : objectIn(answer)
          )
        )
      })
    return Effect.firstSuccessOf(options.models.map(ask))
  }
