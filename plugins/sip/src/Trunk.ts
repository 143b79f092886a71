import type { Account } from "./dialog/Account.ts"
import * as Uri from "./message/Uri.ts"
import type { Peer } from "./transaction/Peer.ts"
import * as Locator from "./transport/Locator.ts"

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
  Uri.text(Uri.make(uri.host, { scheme: uri.scheme, user, port: uri.port }))

export const transportOf = ({ uri }: Trunk): Peer["transport"] => Locator.transportOf(uri) ?? "udp"
