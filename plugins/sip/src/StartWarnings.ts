import { isIP } from "node:net"
import { matcher } from "./Cidr.ts"
import type { Trunk } from "./Trunk.ts"

/** This machine and private networks: without SVC_SIP_ALLOW they are allowed, in addition to the trunks. */
export const privateRanges: ReadonlyArray<string> = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "::1",
  "fc00::/7",
  "fe80::/10"
]

/** Also those of carriers behind their own NAT (RFC 6598). */
const isPrivate = matcher([...privateRanges, "100.64.0.0/10"])

const isLoopback = matcher(["127.0.0.0/8", "::1"])

/** What the operator should know when the server starts: who may call, and what the trunks cannot reach. */
export const startWarnings = (given: {
  /** The address that the sockets have. */
  readonly bind: string
  /** Whether SVC_SIP_ALLOW or SVC_SIP_USERS says who may call. */
  readonly isLimited: boolean
  readonly trunks: ReadonlyArray<Trunk>
  readonly addressesOf: (trunk: Trunk) => ReadonlyArray<string>
  /** Our address for this peer. */
  readonly addressFor: (peer: string) => string
}): ReadonlyArray<string> => {
  const { addressFor, addressesOf, bind, isLimited, trunks } = given
  const open =
    isLimited || isLoopback(bind)
      ? []
      : [
          `SVC_SIP_ALLOW is not set: this machine, all private networks${trunks.length === 0 ? "" : " and the trunks"} ` +
            "may call the agents; set it to the addresses that calls come from"
        ]
  const unreachable = trunks.flatMap((trunk) => {
    const theirs = addressesOf(trunk).find((address) => isIP(address) !== 0 && !isPrivate(address))
    const ours = theirs === undefined ? "" : addressFor(theirs)
    if (theirs === undefined || !isPrivate(ours)) return []
    return [
      `the trunk of ${trunk.variable}_URI at ${theirs} would have to answer to ${ours}, a private address that it cannot ` +
        "reach; set SVC_SIP_EXTERNAL_ADDRESS to the public address of this machine"
    ]
  })
  return [...open, ...unreachable]
}
