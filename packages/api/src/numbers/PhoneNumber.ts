import { Schema } from "effect"
import { AgentId } from "../Ids.ts"
import { define } from "../VoiceError.ts"
import { Timestamp } from "../Wire.ts"

/** A phone number of a project. */
export const PhoneNumber = Schema.Struct({
  id: Schema.Int,
  number: Schema.String,
  /** ISO 3166-1 alpha-2. */
  country: Schema.String,
  type: Schema.Literal("local", "mobile", "toll_free"),
  agent_id: Schema.NullOr(AgentId),
  address_id: Schema.NullOr(Schema.Int),
  monthly_cost_eur: Schema.Number,
  /** Short name of the telephony plugin that carries the number. */
  telephony: Schema.String,
  status: Schema.Literal("active", "released"),
  purchased_at: Timestamp
}).annotations({ identifier: "PhoneNumber" })
export type PhoneNumber = typeof PhoneNumber.Type

export class PhoneNumberNotFound extends define(
  "PhoneNumberNotFound",
  "PHONE_NUMBER_NOT_FOUND",
  404,
  "phone number not found"
) {}
export class PhoneNumberInUse extends define(
  "PhoneNumberInUse",
  "PHONE_NUMBER_IN_USE",
  409,
  "phone number is already registered"
) {}
