import type { Account } from "./dialog/Account.ts"
import { paramOf } from "./message/Syntax.ts"
import * as Uri from "./message/Uri.ts"

/** The trunk that carries our calls. */
export interface Trunk {
  readonly uri: Uri.SipUri
  readonly account: Account | undefined
}

/** The URI of a target at the trunk: of a number its user, a SIP URI as it is. */
export const targetAt = (trunk: Trunk | undefined, host: string, target: string): string => {
  if (/^sips?:/i.test(target)) return target
  const base = trunk?.uri ?? Uri.make(host)
  return Uri.text({ ...base, user: target })
}

/** Our address at the trunk. */
export const addressAt = ({ uri }: Trunk, user: string | undefined): string =>
  Uri.text(Uri.make(uri.host, { user, port: uri.port }))

export const transportOf = ({ uri }: Trunk): "udp" | "tcp" =>
  paramOf(uri.params, "transport")?.toLowerCase() === "tcp" ? "tcp" : "udp"
