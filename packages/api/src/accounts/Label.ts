import { Schema } from "effect"

/** Text that people write and see: trimmed, and without U+0000, which the database cannot hold. At most `max` characters. */
export const Label = (field: string, max: number) =>
  Schema.Trim.pipe(
    Schema.maxLength(max, { message: () => `${field} must not exceed ${max} characters` }),
    Schema.filter((text) => !text.includes("\u0000"), {
      message: () => `${field} must not contain NUL characters`
    })
  )

/** The name of a project or key. An empty one is answered with `empty`. */
export const Name = (empty: string) => Label("name", 200).pipe(Schema.minLength(1, { message: () => empty }))
