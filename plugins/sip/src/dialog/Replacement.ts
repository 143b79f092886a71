import * as Replaces from "../message/Replaces.ts"
import * as Uri from "../message/Uri.ts"
import * as Dialog from "./Dialog.ts"
import type { Established } from "./Established.ts"

/** The host that requests of a dialog go to: its first route, else the peer's Contact. */
const hopOf = (dialog: Dialog.Dialog): string | undefined => {
  const uri = Dialog.nextHop(Dialog.ack(dialog, 0))
  return uri?._tag === "Sip" ? uri.host.toLowerCase() : undefined
}

/**
 * The target of a REFER on one call, by which its peer takes our place in another call (RFC 5589, 7). `reason`: why that is
 * not possible. Both calls must be at the same host, which offers REFER and Replaces in both.
 */
export const target = (
  one: Established,
  other: Established
): { readonly uri: string } | { readonly reason: string } => {
  if (one.state !== "talking" || other.state !== "talking") return { reason: "one of the calls is over" }
  if (!one.takesRefer || !one.takesReplaces || !other.takesReplaces) {
    return { reason: "the trunk does not offer REFER with Replaces" }
  }
  const hop = hopOf(one.dialog)
  if (hop === undefined || hop !== hopOf(other.dialog)) return { reason: "the calls are not at the same trunk" }
  const uri = Uri.parse(other.dialog.target)
  if (uri?._tag !== "Sip") return { reason: "the second call has no SIP address" }
  const { callId, localTag, remoteTag } = other.dialog
  const value = Replaces.text({ callId, toTag: remoteTag, fromTag: localTag })
  return { uri: Uri.text({ ...uri, headers: [{ name: "Replaces", value }] }) }
}
