import { Schema } from "effect"

/**
 * The name of a project or key: trimmed, at most 200 characters, and without U+0000, which the database cannot hold. An
 * empty one fails with the message `empty`.
 */
export const Name = (empty: string) =>
  Schema.Trim.pipe(
    Schema.minLength(1, { message: () => empty }),
    Schema.maxLength(200, { message: () => "name must not exceed 200 characters" }),
    Schema.filter((text) => !text.includes("\u0000"), { message: () => "name must not contain NUL characters" })
  ).annotations({ jsonSchema: { type: "string", minLength: 1, maxLength: 200 } })
