import { Schema } from "effect"

/** How keypad digits are asked for and collected, every value decided. Plain JSON: it is part of the journal. */
export const GatherRules = Schema.Struct({
  /** Spoken first; empty: collected without a word. */
  prompt: Schema.String,
  /** A voice's name, or `female` or `male`; null: the voice of the call. */
  voice: Schema.NullOr(Schema.String),
  /** BCP-47; null: the language of the call. */
  language: Schema.NullOr(Schema.String),
  /** 1 to 20. */
  max_digits: Schema.Number,
  /** The key that ends the input, or empty: none does. */
  terminator: Schema.String,
  /** Seconds without a digit, from the end of the prompt or from the last digit. */
  timeout_seconds: Schema.Number
})
export type GatherRules = typeof GatherRules.Type

/**
 * What a key does to the digits so far:
 *
 * | key | digits so far | then |
 * |---|---|---|
 * | digit | fewer than `max_digits` with it | more |
 * | digit | `max_digits` with it | valid |
 * | terminator | some | valid |
 * | terminator | none | wrong |
 * | another | any | wrong |
 *
 * A terminator that is a digit counts as the terminator.
 */
export const press = (
  { max_digits, terminator }: Pick<GatherRules, "max_digits" | "terminator">,
  digits: string,
  key: string
): { readonly digits: string; readonly verdict: "more" | "valid" | "wrong" } => {
  if (terminator !== "" && key === terminator) return { digits, verdict: digits === "" ? "wrong" : "valid" }
  if (!/^[0-9]$/.test(key)) return { digits, verdict: "wrong" }
  const all = digits + key
  return { digits: all, verdict: all.length >= max_digits ? "valid" : "more" }
}
