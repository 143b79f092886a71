import { Schema } from "effect"

/** How digits are requested and collected, with every value resolved. Plain JSON, because it is part of the journal. */
export const GatherRules = Schema.Struct({
  /** Spoken first; empty: no prompt. */
  prompt: Schema.String,
  /** A voice's name, or `female` or `male`; null: the voice of the call. */
  voice: Schema.NullOr(Schema.String),
  /** BCP-47; null: the language of the call. */
  language: Schema.NullOr(Schema.String),
  /** 1 to 20. */
  max_digits: Schema.Number,
  /** The digit that ends the input; empty: none. */
  terminator: Schema.String,
  /** Seconds without a digit, from the end of the prompt or from the last digit. */
  timeout_seconds: Schema.Number
})
export type GatherRules = typeof GatherRules.Type

/**
 * Applies a digit to the digits so far:
 *
 * | digit | digits so far | verdict |
 * |---|---|---|
 * | 0-9 | fewer than `max_digits` with it | more |
 * | 0-9 | `max_digits` with it | valid |
 * | terminator | some | valid |
 * | terminator | none | wrong |
 * | any other | any | wrong |
 *
 * A terminator from 0 to 9 counts as the terminator only.
 */
export const press = (
  { max_digits, terminator }: Pick<GatherRules, "max_digits" | "terminator">,
  digits: string,
  digit: string
): { readonly digits: string; readonly verdict: "more" | "valid" | "wrong" } => {
  if (terminator !== "" && digit === terminator) return { digits, verdict: digits === "" ? "wrong" : "valid" }
  if (!/^[0-9]$/.test(digit)) return { digits, verdict: "wrong" }
  const all = digits + digit
  return { digits: all, verdict: all.length >= max_digits ? "valid" : "more" }
}
