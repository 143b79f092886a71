import { readFileSync } from "node:fs"
import { Schema } from "effect"

/** The version of the program. */
export const { version } = Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ version: Schema.String })))(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)
