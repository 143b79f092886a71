import { Schema } from "effect"
import { OrgId } from "../Ids.ts"
import { Tier } from "../Principal.ts"
import { define } from "../VoiceError.ts"
import { Timestamp } from "../Wire.ts"

/** An organization, as its own keys see it. */
export const OrganizationInfo = Schema.Struct({
  id: Schema.Int,
  public_id: OrgId,
  name: Schema.String,
  tier: Tier,
  /** EUR, at most 4 decimals. */
  balance_eur: Schema.Number,
  /** No credits left; enterprise is never paused. */
  is_paused: Schema.Boolean,
  concurrent_call_limit: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "OrganizationInfo" })
export type OrganizationInfo = typeof OrganizationInfo.Type

/** For the command line only: no request can name an unknown organization. */
export class OrganizationNotFound extends define(
  "OrganizationNotFound",
  "ORGANIZATION_NOT_FOUND",
  404,
  "organization not found"
) {}
