import { describe, expect, it } from "@effect/vitest"
import type { UntimedInput } from "@svc/conversation/Input"
import { healthy } from "@svc/providers/Health"
import { Effect } from "effect"
import { extraction } from "../../src/session/Extractor.ts"

/** What is fed when the model answers this. */
const fedFor = (text: string) =>
  Effect.gen(function* () {
    const fed: Array<UntimedInput> = []
    const extract = extraction({
      callId: "call_1",
      models: [
        {
          id: "double",
          models: ["double"],
          health: Effect.succeed(healthy),
          generate: (_, onDelta) => Effect.sync(() => onDelta({ _tag: "Text", text }))
        }
      ],
      variables: {},
      feed: (input) => fed.push(input)
    })
    yield* extract({ _tag: "Extract", messages: [], fields: [{ name: "a", type: "string" }] })
    return fed
  })

describe("the model's answer to an extraction", () => {
  it.effect("is the JSON object between other text", () =>
    Effect.gen(function* () {
      expect(yield* fedFor('Here: {"a":"b"}.')).toEqual([{ _tag: "Extracted", answer: { a: "b" } }])
    })
  )

  it.effect("is not used when it is nested too deep or has too many values", () =>
    Effect.gen(function* () {
      const reason = (text: string) => ({ _tag: "ExtractionFailed", reason: text })
      expect(yield* fedFor(`{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}`)).toEqual([
        reason("the model's answer is nested more than 100 levels deep")
      ])
      expect(yield* fedFor(`{"a":[${"0,".repeat(20_000)}0]}`)).toEqual([
        reason("the model's answer has more than 10000 values")
      ])
      expect(yield* fedFor("{")).toEqual([reason("the model's answer is not a JSON object")])
    })
  )
})
