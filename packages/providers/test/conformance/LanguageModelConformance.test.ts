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
    closesEarly: referenceLanguageModel(bug, "breaks"),
    sendsGarbage: referenceLanguageModel(bug, "breaks")
  }
})

languageModelSuite({ name: "a correct language model", time: "virtual", ...options(undefined, 1000) })

const expected: { readonly [B in LanguageModelBug]: Expected } = {
  throws: { allBut: ["declares its models", "leaves nothing behind after many requests"] },
  dies: { allBut: ["declares its models", "leaves nothing behind after many requests"] },
  hangs: { allBut: ["declares its models", "peer hangs: can be interrupted"] },
  fails: [
    "answers in order",
    "tells Done once, last",
    "completes after Done and tells nothing afterwards",
    "calls tools, complete and in order, each with its own id",
    "goes on from the results of its tools",
    "tells nothing after it was interrupted",
    "keeps two requests at once apart"
  ],
  "tells after interruption": ["tells nothing after it was interrupted", "peer hangs: can be interrupted"],
  "ignores interruption": ["tells nothing after it was interrupted", "peer hangs: can be interrupted"],
  "tells after completion": ["completes after Done and tells nothing afterwards"],
  "completes without Done": [
    "tells Done once, last",
    "calls tools, complete and in order, each with its own id",
    "goes on from the results of its tools",
    "keeps two requests at once apart"
  ],
  "tells Done twice": [
    "tells Done once, last",
    "goes on from the results of its tools",
    "keeps two requests at once apart"
  ],
  "tells Done first": [
    "tells Done once, last",
    "calls tools, complete and in order, each with its own id",
    "goes on from the results of its tools",
    "keeps two requests at once apart",
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "never completes after Done": [
    "answers in order",
    "tells Done once, last",
    "completes after Done and tells nothing afterwards",
    "calls tools, complete and in order, each with its own id",
    "goes on from the results of its tools",
    "keeps two requests at once apart"
  ],
  reorders: ["answers in order", "keeps two requests at once apart"],
  "mixes requests": ["keeps two requests at once apart"],
  "says nothing": [
    "answers in order",
    "keeps two requests at once apart",
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "fractional usage": [
    "tells Done once, last",
    "goes on from the results of its tools",
    "keeps two requests at once apart"
  ],
  "usage twice": ["tells Done once, last", "goes on from the results of its tools", "keeps two requests at once apart"],
  "reorders calls": ["calls tools, complete and in order, each with its own id"],
  "calls without arguments": ["calls tools, complete and in order, each with its own id"],
  "shares call ids": ["calls tools, complete and in order, each with its own id"],
  "wrong reason for calls": ["calls tools, complete and in order, each with its own id"],
  "dies of tool results": ["goes on from the results of its tools"],
  "leaks fibers": ["leaves nothing behind after many requests"],
  "Done though the peer broke": [
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "hangs when the peer broke": [
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "discount in percent": ["declares its models"]
}

describe("a language model that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[LanguageModelBug, Expected]>) {
    it.effect(`"${bug}" is found out`, () =>
      Effect.gen(function* () {
        const checks = languageModelChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
