import type { Binding } from "./auth/Registrar.ts"
import type { Users } from "./auth/Users.ts"
import * as Uri from "./message/Uri.ts"
import type { Trunk } from "./Trunk.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/** How calls find the phones that have registered with us. */
export interface PhoneTargets {
  /** The phones at an address such as `sip:anna@192.0.2.1`, or with a number; undefined: it is none of ours. */
  readonly at: (target: string) => ReadonlyArray<Binding> | undefined
  /** The number of a user's phones; undefined: they have none of their own. */
  readonly numberOf: (user: string) => string | undefined
}

/** A phone as a call goes to it: at the address that its REGISTER came from, which NAT lets through. */
export const routeTo = ({ contact, peer }: Binding): { readonly route: Trunk; readonly uri: string } => {
  const params = peer.transport === "udp" ? [] : [{ name: "transport", value: peer.transport }]
  const uri = Uri.make(bracketed(peer.address), { port: peer.port, params })
  const route = { variable: "", uri, account: undefined, numbers: [], register: false }
  return { route, uri: Uri.text({ ...uri, user: contact.user }) }
}

/** The phones of these users, at their numbers, at the address that they registered, and at addresses of this machine. */
export const make = (
  { numbers, passwords, registrar }: Users,
  now: () => number,
  addressFor: (peer: string) => string
): PhoneTargets => ({
  at: (target) => {
    const owner = numbers.get(target)
    if (owner !== undefined) return registrar.phones(owner, now())
    const uri = Uri.parse(target)
    if (uri?._tag !== "Sip" || uri.user === undefined || !passwords.has(uri.user)) return undefined
    const phones = registrar.phones(uri.user, now())
    const host = uri.host.toLowerCase()
    const own = phones.filter(
      (each) => each.host.toLowerCase() === host || bracketed(addressFor(each.peer.address)) === host
    )
    if (own.length > 0) return own
    return host === bracketed(addressFor(uri.host)) ? [] : undefined
  },
  numberOf: (user) => [...numbers].find(([, owner]) => owner === user)?.[0]
})
