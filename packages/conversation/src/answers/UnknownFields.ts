import {
  modelFields,
  pronunciationFields,
  silencePromptFields,
  speechFields,
  turnTakingFields
} from "@svc/api/callbacks/CallSettings"
import {
  callStartedFields,
  postCallSmsFields,
  preGatherFields,
  ToolDefinition,
  toolGatherFields
} from "@svc/api/callbacks/CallStarted"
import { ExtractionField } from "@svc/api/callbacks/Extraction"
import { didYouMean } from "@svc/api/Suggestion"
import { isRecord, type Warning, Warnings } from "./FieldReader.ts"

/** The fields of an object in an answer, with the readers of the values that are objects themselves. */
interface Shape {
  /** What the object is, in messages. */
  readonly of: string
  readonly fields: ReadonlyArray<string>
  readonly inner?: { readonly [field: string]: (value: unknown, path: string, warnings: Warnings) => void }
}

const look =
  ({ fields, inner = {}, of }: Shape) =>
  (value: unknown, path: string, warnings: Warnings): void => {
    if (!isRecord(value)) return
    const prefix = path === "" ? "" : `${path}.`
    for (const [name, part] of Object.entries(value)) {
      if (!fields.includes(name)) {
        warnings.add(`${prefix}${name}`, () => `is not a field of ${of}, and is ignored${didYouMean(name, fields)}`)
      }
      if (Object.hasOwn(inner, name)) inner[name]?.(part, `${prefix}${name}`, warnings)
    }
  }

const entriesOf =
  (read: (value: unknown, path: string, warnings: Warnings) => void) =>
  (value: unknown, path: string, warnings: Warnings): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, part] of Object.entries(value)) read(part, `${path}.${key}`, warnings)
  }

const gather = look({ of: "a gather", fields: Object.keys(toolGatherFields) })
const tool = look({ of: "a tool", fields: [...Object.keys(ToolDefinition.fields), "gather"], inner: { gather } })
const menu = look({ of: "pre_gather", fields: Object.keys(preGatherFields) })
const sms = look({ of: "post_call.sms", fields: Object.keys(postCallSmsFields) })
const extracted = look({
  of: "an extraction_schema",
  fields: Object.keys(ExtractionField.fields).filter((name) => name !== "name")
})
const pronunciation = look({ of: "a pronunciation", fields: Object.keys(pronunciationFields) })
const speech = look({
  of: "speech",
  fields: Object.keys(speechFields),
  inner: { pronunciations: entriesOf(pronunciation) }
})
const answer = look({
  of: "the answer",
  fields: [...Object.keys(callStartedFields), "transfer_destinations", "pre_gather", "post_call"],
  inner: {
    tools: entriesOf(tool),
    extraction_schema: entriesOf(extracted),
    pre_gather: menu,
    turn_taking: look({ of: "turn_taking", fields: Object.keys(turnTakingFields) }),
    silence_prompts: look({ of: "silence_prompts", fields: Object.keys(silencePromptFields) }),
    model: look({ of: "model", fields: Object.keys(modelFields) }),
    speech,
    post_call: look({ of: "post_call", fields: ["sms"], inner: { sms } })
  }
})

/**
 * The fields of an answer to `call.started` that Svc does not know. A call ignores them without a warning: a server may
 * send what it likes. `svc agent check` shows them, because most are misspelled.
 */
export const unknownFields = (body: unknown): ReadonlyArray<Warning> => {
  const warnings = new Warnings()
  answer(body, "", warnings)
  return warnings.fields.warnings
}
