import { Schema } from "effect"
import { call, from } from "./EventFields.ts"

const reason = {
  /** Why the agent transfers, in the model's words; null for a transfer by the API. */
  reason: Schema.NullOr(Schema.String)
}

/** `data` of transfer events. Numbers are E.164. */
export const transferEventData = {
  "transfer.initiated": Schema.Struct({ ...call, ...from, transfer_to: Schema.String, ...reason }),
  "transfer.completed": Schema.Struct({ ...call, ...from, transfer_to: Schema.NullOr(Schema.String) }),
  "transfer.failed": Schema.Struct({
    ...call,
    ...from,
    transfer_to: Schema.NullOr(Schema.String),
    ...reason,
    /** What went wrong, one plain sentence. */
    failure_reason: Schema.String
  })
} as const
