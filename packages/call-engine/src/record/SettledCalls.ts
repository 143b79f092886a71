import { Context } from "effect"
import type { CallOwner } from "./CallsRepo.ts"

/**
 * Gets every call that this process settled, also those of nodes that died, for the export of traces; nobody by default.
 * Its record may not be visible yet: the transaction may still be open.
 */
export class SettledCalls extends Context.Reference<SettledCalls>()("@svc/call-engine/SettledCalls", {
  defaultValue: (): { readonly add: (call: Pick<CallOwner, "public_id" | "project_id">) => void } => ({ add: () => {} })
}) {}
