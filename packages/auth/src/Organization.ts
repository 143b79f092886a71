import { OrgId } from "@svc/api/Ids"
import { Tier } from "@svc/api/Principal"
import { Schema } from "effect"

/** An account. `id` is the database identity, `public_id` is `org_…`. */
export const Organization = Schema.Struct({
  id: Schema.Int,
  public_id: OrgId,
  name: Schema.String,
  tier: Tier,
  /** EUR, exact: the opening balance. The current one is its `Balance`. */
  balance_eur: Schema.BigDecimal,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Organization = typeof Organization.Type
