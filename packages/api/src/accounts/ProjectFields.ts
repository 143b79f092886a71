import { Schema } from "effect"
import { Field, Fields } from "../EntityFields.ts"
import { ProjectId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"
import { Name } from "./Name.ts"

const nullableText = Schema.NullOr(Schema.String)

// The rules stand around the union: inside, their messages would be lost among those of its members.
const Description = nullableText.pipe(
  Schema.filter((text) => text === null || text.length <= 2000, {
    message: () => "description must not exceed 2000 characters",
    jsonSchema: { maxLength: 2000 }
  }),
  Schema.filter((text) => text === null || !text.includes("\u0000"), {
    message: () => "description must not contain NUL characters"
  })
)

/** Every field of a project. `id` is the public id in responses, and the numeric id in rows. */
export const ProjectFields = Fields({
  id: Field({ wire: ProjectId, row: Schema.Int }),
  public_id: Field({ row: ProjectId, insert: ProjectId }),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  name: Field({
    wire: Schema.String,
    create: Name("name is required."),
    update: Schema.optional(Name("name must not be empty")),
    row: Schema.String,
    insert: Schema.String,
    change: Schema.optional(Schema.String)
  }),
  description: Field({
    wire: nullableText,
    create: Schema.optionalWith(Description, { default: () => null }),
    update: Schema.optional(Description),
    row: nullableText,
    insert: nullableText,
    change: Schema.optional(nullableText)
  }),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})
