import { readFile } from "node:fs/promises"
import { Effect } from "effect"
import type { Found } from "../KnowledgeSearch.ts"
import { questions } from "./Questions.ts"

/** The text that the questions are about, in Markdown: an entry for each heading. */
export const jargon: Effect.Effect<string> = Effect.promise(() =>
  readFile(new URL("../../testing/jargon.md", import.meta.url), "utf8")
)

/** How many questions are answered by a passage that was found. */
export interface Recall {
  /** From 0 to 1. */
  readonly share: number
  /** The questions whose answer was not found. */
  readonly missed: ReadonlyArray<string>
}

const spaced = (text: string): string => text.replace(/\s+/g, " ")

/** Asks all questions. */
export const recall = (search: (question: string) => Effect.Effect<Found>): Effect.Effect<Recall> =>
  Effect.map(
    Effect.filter(questions, ({ answer, question }) =>
      Effect.map(search(question), ({ passages }) => !passages.some(({ text }) => spaced(text).includes(answer)))
    ),
    (missed) => ({
      share: 1 - missed.length / questions.length,
      missed: missed.map(({ question }) => question)
    })
  )
