import { Schema } from "effect"
import { define } from "../VoiceError.ts"
import { E164, JsonObject } from "../Wire.ts"

const seconds = () => ({ message: "ring_timeout_seconds must be between 5 and 120", override: true })

/** Body of `POST /v1/calls`: a call that an agent places. */
export const PlaceCallRequest = Schema.Struct({
  agent_id: Schema.Union(Schema.String, Schema.Int).annotations({ description: "Public or numeric id" }),
  to_number: E164,
  from_number: Schema.optional(
    E164.annotations({
      description: "A number of the project; without it, the agent's own",
      examples: ["+15550100100"]
    })
  ),
  metadata: Schema.optional(
    JsonObject.annotations({
      description: "Stored on the call; what the agent's server answers is added. At most 65,536 bytes and 5 levels"
    })
  ),
  ring_timeout_seconds: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(5, 120)).annotations({ message: seconds, examples: [30] }),
    { default: () => 30 }
  )
}).annotations({ identifier: "PlaceCallRequest" })
export type PlaceCallRequest = typeof PlaceCallRequest.Type

/** The telephony plugin that owns the number cannot place calls. */
export class OutboundNotSupported extends define(
  "OutboundNotSupported",
  "OUTBOUND_NOT_SUPPORTED",
  409,
  "the telephony of from_number cannot place calls"
) {}

/** The tier's limit of live calls is reached. */
export class ConcurrentCallLimitExceeded extends define(
  "ConcurrentCallLimitExceeded",
  "CONCURRENT_CALL_LIMIT_EXCEEDED",
  429,
  "as many calls are live as the account may have"
) {}
