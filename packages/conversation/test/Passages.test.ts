import { expect, it } from "@effect/vitest"
import { searchResult } from "../src/Passages.ts"

it("the result of search_knowledge is the same text for passages that were read from a stored journal", () => {
  const live = [{ knowledge_base: "Zoo", heading: null, text: "At noon.", score: 1 }]
  // As PostgreSQL orders the keys of jsonb.
  const stored = [{ text: "At noon.", score: 1, heading: null, knowledge_base: "Zoo" }]
  expect(JSON.stringify(searchResult(stored))).toBe(JSON.stringify(searchResult(live)))
})
