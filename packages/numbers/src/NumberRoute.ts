import { variant } from "@svc/api/EntityFields"
import { PhoneNumberFields } from "@svc/api/numbers/PhoneNumberFields"

/** Where a call to one of our numbers goes. `agent_id` is null when no agent is assigned. */
export const NumberRoute = variant(PhoneNumberFields, "row").pick("id", "number", "org_id", "project_id", "agent_id")
export type NumberRoute = typeof NumberRoute.Type
