import { Option } from "effect"
import { type Check, fields, kindOf } from "./Shapes.ts"

/** What is wrong with a value of an object store. */

/** An object store. */
export const objectStore: Check = fields("an object store", {
  id: "string",
  health: "object",
  write: "function",
  recover: "function",
  size: "function",
  read: "function",
  remove: "function",
  presign: "function or undefined"
})

/** A writer of an object. */
export const objectWriter: Check = fields("a writer", { append: "function", finish: "object" })

/** The size of an object, or none. */
export const objectSize: Check = (value) => {
  if (!Option.isOption(value)) return `a size must be an Option, not ${kindOf(value)}`
  return Option.isNone(value) || (Number.isSafeInteger(value.value) && Number(value.value) >= 0)
    ? undefined
    : "a size must be a whole number of bytes"
}

/** A presigned URL. */
export const objectUrl: Check = (value) =>
  typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? undefined
    : "a URL must begin with http:// or https://"
