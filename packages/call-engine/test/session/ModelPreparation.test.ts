import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

type Model = Context.Tag.Service<LanguageModel>

const model = (id: string, prepare: NonNullable<Model["prepare"]>, generate: Model["generate"]): Model => ({
  id,
  models: [id],
  health: Effect.succeed(healthy),
  prepare,
  generate
})

const says =
  (text: string): Model["generate"] =>
  (_, onDelta) =>
    Effect.sync(() => {
      onDelta({ _tag: "Text", text })
      onDelta({ _tag: "Done", reason: "stop" })
    })

const tool = { name: "book", description: "Books a table.", parameters: { type: "object", properties: {} } }
const answer = { ...configuration({ otherwise: "Ok." }).json, tools: [tool] }

describe("a language model", () => {
  it.live("that the call names prepares, with its name, and not the preferred one", () =>
    Effect.gen(function* () {
      const prepared: Array<string> = []
      const noting =
        (id: string): NonNullable<Model["prepare"]> =>
        (call) =>
          Effect.sync(() => void prepared.push(`${id} ${call.model}`))
      yield* during(
        () => ({
          languageModel: [model("first", noting("first"), says("Ok.")), model("second", noting("second"), says("Ok."))]
        }),
        ({ wait }) => wait("3 seconds"),
        { ...answer, model: { name: "second" } }
      )
      expect(prepared).toEqual(["second second"])
    })
  )

  it.live("prepares once for a call, before speech-to-text is opened, with its prompt and tools", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      yield* during(
        ({ speechToText }) => ({
          languageModel: [
            model(
              "warm",
              ({ callId, systemPrompt, tools }) =>
                Effect.sync(() =>
                  order.push(`prepare ${callId} ${systemPrompt === answer.system_prompt} ${tools.map((t) => t.name)}`)
                ),
              (request, onDelta) => {
                order.push(`generate ${request.callId}`)
                return says("Ok.")(request, onDelta)
              }
            )
          ],
          speechToText: speechToText.map((stt) => ({
            ...stt,
            open: (options) =>
              Effect.zipRight(
                Effect.sync(() => order.push("open")),
                stt.open(options)
              )
          }))
        }),
        ({ say, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("One")
            yield* wait("3 seconds")
            yield* say("Two")
            yield* wait("3 seconds")
          }),
        answer
      )
      const [first = "", ...rest] = order
      expect(first).toMatch(/^prepare \S+ true book,end_call$/)
      const callId = first.split(" ")[1]
      expect(rest).toEqual(["open", `generate ${callId}`, `generate ${callId}`])
    })
  )

  it.live("that hangs, fails or throws while it prepares does not delay the call", () =>
    Effect.gen(function* () {
      const prepares: ReadonlyArray<NonNullable<Model["prepare"]>> = [
        () => Effect.never,
        () => Effect.fail(new LanguageModelError({ reason: "no cache", retryable: true })),
        () => Effect.die("boom"),
        () => {
          throw new Error("boom")
        }
      ]
      for (const prepare of prepares) {
        const { result } = yield* during(
          () => ({ languageModel: [model("cold", prepare, says("Ok."))] }),
          ({ say, turns, wait }) =>
            Effect.gen(function* () {
              yield* wait("1 second")
              yield* say("One")
              yield* wait("2 seconds")
              return turns()
            }),
          answer
        )
        expect(result).toEqual(["assistant: Hello.", "user: One", "assistant: Ok."])
      }
    })
  )

  it.live("that cannot read the call's script is a warning from the start, which names the field", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        (loaded) => loaded,
        ({ log, wait }) =>
          Effect.map(wait("1 second"), () =>
            log.rows.flatMap(({ input }) =>
              input._tag === "ProviderWarned" ? [{ stage: input.stage, at: input.at, reason: input.reason }] : []
            )
          ),
        configuration({ otherwise: "Ok.", providers: { tts: { first_byte: 5 } } }).json
      )
      expect(result).toEqual([
        { stage: "language-model", at: expect.any(Number), reason: expect.stringContaining("providers.tts.first_byte") }
      ])
      expect(result[0]?.at).toBeLessThan(100)
    })
  )

  it.live("that takes over as a fallback prepares too", () =>
    Effect.gen(function* () {
      const prepared: Array<string> = []
      const noting = (id: string, generate: Model["generate"]) =>
        model(id, () => Effect.sync(() => prepared.push(id)), generate)
      const failing = () => Effect.fail(new LanguageModelError({ reason: "503", retryable: true }))
      yield* during(
        () => ({ languageModel: [noting("first", failing), noting("second", says("Ok."))] }),
        ({ say, wait }) =>
          Effect.gen(function* () {
            yield* wait("1 second")
            yield* say("One")
            yield* wait("3 seconds")
          }),
        answer
      )
      expect(prepared).toEqual(["first", "second"])
    })
  )
})
