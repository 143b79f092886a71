import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { type LanguageModelCheckOptions, languageModelChecks } from "../../src/testing/LanguageModelChecks.ts"
import { languageModelSuite } from "../../src/testing/LanguageModelSuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import { calls, type LanguageModelBug, referenceLanguageModel, says } from "./ReferenceLanguageModel.ts"

const options = (bug?: LanguageModelBug, sessions = 60): LanguageModelCheckOptions => ({
  layer: Layer.suspend(() => referenceLanguageModel(bug)),
  text: { prompt: { messages: [{ role: "user", content: "count" }] }, says },
  tools: {
    prompt: {
      messages: [{ role: "user", content: "book" }],
      tools: calls.map(({ name }) => ({ name, description: name, parameters: { type: "object" } }))
    },
    calls
  },
  sessions,
  faults: {
    refuses: referenceLanguageModel(bug, "refuses"),
    hangs: referenceLanguageModel(bug, "hangs"),
    closesEarly: referenceLanguageModel(bug, "fails"),
    sendsGarbage: referenceLanguageModel(bug, "fails")
  }
})

languageModelSuite({ name: "a correct language model", time: "virtual", ...options(undefined, 1000) })

const expected: { readonly [B in LanguageModelBug]: Expected } = {
  throws: {
    allBut: [
      "declares at least one model, a discount from 0 to 1, and is healthy",
      "prepare, where there is one, completes or fails with LanguageModelError",
      "many interrupted requests leave no fibers, timers or sockets behind"
    ]
  },
  dies: {
    allBut: [
      "declares at least one model, a discount from 0 to 1, and is healthy",
      "prepare, where there is one, completes or fails with LanguageModelError",
      "many interrupted requests leave no fibers, timers or sockets behind"
    ]
  },
  hangs: {
    allBut: [
      "declares at least one model, a discount from 0 to 1, and is healthy",
      "prepare, where there is one, completes or fails with LanguageModelError",
      "generate can be interrupted when the peer hangs"
    ]
  },
  fails: [
    "generate emits the text of the answer in order",
    "generate answers with each of the first five models",
    "generate emits Done exactly once, as the last delta",
    "generate completes after Done and emits nothing afterwards",
    "generate emits complete tool calls in order, each with its own id",
    "generate accepts the results of tool calls and answers them",
    "generate stops when it is interrupted and emits nothing afterwards",
    "generate keeps two concurrent requests separate"
  ],
  "emits after interruption": [
    "generate stops when it is interrupted and emits nothing afterwards",
    "generate can be interrupted when the peer hangs"
  ],
  "ignores interruption": [
    "generate stops when it is interrupted and emits nothing afterwards",
    "generate can be interrupted when the peer hangs"
  ],
  "emits after completion": ["generate completes after Done and emits nothing afterwards"],
  "completes without Done": [
    "generate emits Done exactly once, as the last delta",
    "generate emits complete tool calls in order, each with its own id",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate"
  ],
  "emits Done twice": [
    "generate emits Done exactly once, as the last delta",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate"
  ],
  "emits Done first": [
    "generate emits Done exactly once, as the last delta",
    "generate emits complete tool calls in order, each with its own id",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate",
    "generate fails with LanguageModelError when the peer closes the connection early",
    "generate fails with LanguageModelError when the peer sends malformed data"
  ],
  "never completes after Done": [
    "generate emits the text of the answer in order",
    "generate answers with each of the first five models",
    "generate emits Done exactly once, as the last delta",
    "generate completes after Done and emits nothing afterwards",
    "generate emits complete tool calls in order, each with its own id",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate"
  ],
  "reorders text": [
    "generate emits the text of the answer in order",
    "generate keeps two concurrent requests separate"
  ],
  "mixes requests": ["generate keeps two concurrent requests separate"],
  "emits no text": [
    "generate emits the text of the answer in order",
    "generate answers with each of the first five models",
    "generate keeps two concurrent requests separate",
    "generate fails with LanguageModelError when the peer closes the connection early",
    "generate fails with LanguageModelError when the peer sends malformed data"
  ],
  "emits fractional usage": [
    "generate emits Done exactly once, as the last delta",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate"
  ],
  "emits Usage twice": [
    "generate emits Done exactly once, as the last delta",
    "generate accepts the results of tool calls and answers them",
    "generate keeps two concurrent requests separate"
  ],
  "reorders tool calls": ["generate emits complete tool calls in order, each with its own id"],
  "drops the arguments of tool calls": ["generate emits complete tool calls in order, each with its own id"],
  "reuses tool call ids": ["generate emits complete tool calls in order, each with its own id"],
  "ends tool calls with the reason stop": ["generate emits complete tool calls in order, each with its own id"],
  "dies on tool results": ["generate accepts the results of tool calls and answers them"],
  "has a second model that says nothing": ["generate answers with each of the first five models"],
  "has a model without a context": ["declares at least one model, a discount from 0 to 1, and is healthy"],
  "has a model twice": ["declares at least one model, a discount from 0 to 1, and is healthy"],
  "leaks fibers": ["many interrupted requests leave no fibers, timers or sockets behind"],
  "emits Done although the peer failed": [
    "generate fails with LanguageModelError when the peer closes the connection early",
    "generate fails with LanguageModelError when the peer sends malformed data"
  ],
  "hangs when the peer fails": [
    "generate fails with LanguageModelError when the peer closes the connection early",
    "generate fails with LanguageModelError when the peer sends malformed data"
  ],
  "declares its discount in percent": ["declares at least one model, a discount from 0 to 1, and is healthy"],
  "prepares for ever": ["prepare, where there is one, completes or fails with LanguageModelError"],
  "throws when it prepares": ["prepare, where there is one, completes or fails with LanguageModelError"]
}

describe("a language model that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[LanguageModelBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = languageModelChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
