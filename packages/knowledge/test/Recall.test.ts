import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { KnowledgeSearch } from "../src/KnowledgeSearch.ts"
import { jargon, recall } from "../src/testing/Recall.ts"
import { create, owner, Test } from "./Fixture.ts"

layer(Test)("a search in a whole book", (it) => {
  it.effect("finds the answers to at least 85 % of callers' questions among its first five passages", () =>
    Effect.gen(function* () {
      const { id } = yield* create(yield* owner, { content: yield* jargon })
      const { search } = yield* KnowledgeSearch
      const { missed, share } = yield* recall((text) => search({ base_ids: [id] }, text, 5))
      expect(share, `missed: ${missed.join(" | ")}`).toBeGreaterThanOrEqual(0.85)
    })
  )
})
