import { Redacted } from "effect"
import type { Account } from "./dialog/Account.ts"
import * as Uri from "./message/Uri.ts"
import { type ConfiguredTrunk, configuredTrunks, type TrunkSettings, trunkOf } from "./TrunkSettings.ts"
import type { Peer } from "./transaction/Peer.ts"
import * as Locator from "./transport/Locator.ts"

/** A trunk that carries our calls. */
export interface Trunk {
  /** What its variables begin with: `SVC_SIP_TRUNK`. Empty: it is a phone that has registered with us. */
  readonly variable: string
  readonly uri: Uri.SipUri
  readonly account: Account | undefined
  /** Its numbers, digits only; one that ends in `*` is a prefix. */
  readonly numbers: ReadonlyArray<string>
  readonly register: boolean
  /** The transport of its requests where its URI names none; UDP where absent. */
  readonly transport?: Peer["transport"]
}

/** The host of the trunk, IPv6 without brackets. */
export const hostOf = ({ uri }: Pick<Trunk, "uri">): string => uri.host.replace(/^\[|\]$/g, "")

const trunkFrom = (given: ConfiguredTrunk): Trunk | { readonly problem: string } | undefined => {
  const { numbers, password, register, registerVariable, username, variable } = given
  const uri = given.uri === undefined ? undefined : trunkOf(given.uri)
  if (register && (uri === undefined || username === undefined)) {
    return { problem: `${registerVariable} needs ${variable}_URI and ${variable}_USERNAME` }
  }
  if (uri === undefined) {
    // The first trunk may be left out as a whole, although a name and a password are set.
    return variable === "SVC_SIP_TRUNK" && numbers.length === 0
      ? undefined
      : { problem: `${variable}_URI is not set, and other settings of this trunk are; set it, or remove those` }
  }
  const account =
    username === undefined ? undefined : { username, password: password === undefined ? "" : Redacted.value(password) }
  return { variable, uri, account, numbers, register }
}

/** The trunks that are configured, for servers with these transports, or what is wrong with them. */
export const trunksOf = (
  settings: TrunkSettings,
  transports: ReadonlyArray<Peer["transport"]>
): ReadonlyArray<Trunk> | { readonly problem: string } => {
  const found: Array<Trunk> = []
  for (const each of configuredTrunks(settings)) {
    const trunk = trunkFrom(each)
    if (trunk !== undefined && "problem" in trunk) return trunk
    if (trunk === undefined) continue
    const named = Locator.transportOf(trunk.uri)
    if (named !== undefined && !transports.includes(named)) {
      const over = `${trunk.variable}_URI names a trunk over ${named.toUpperCase()}`
      return { problem: `${over}: add ${named} to SVC_SIP_TRANSPORTS` }
    }
    const isOverTls = named === undefined && transports.length > 0 && transports.every((each) => each === "tls")
    const params = [...trunk.uri.params, { name: "transport", value: "tls" }]
    if (isOverTls && trunk.uri.scheme === "sip") found.push({ ...trunk, uri: { ...trunk.uri, params } })
    else if (named === undefined && !transports.includes("udp")) {
      found.push({ ...trunk, transport: Locator.usualTransport(transports) })
    } else found.push(trunk)
  }
  return found
}

const has = (trunk: Trunk, number: string): boolean => {
  const digits = number.replace(/\D/g, "")
  return trunk.numbers.some((each) => (each.endsWith("*") ? digits.startsWith(each.slice(0, -1)) : digits === each))
}

/**
 * The trunks for a call from this number, in the order in which they are tried: that of the number, else the first, and
 * then the others.
 */
export const inOrderFor = (trunks: ReadonlyArray<Trunk>, number: string): ReadonlyArray<Trunk> => {
  const own = trunks.find((trunk) => has(trunk, number)) ?? trunks[0]
  return own === undefined ? [] : [own, ...trunks.filter((trunk) => trunk !== own)]
}

/** The URI of a target at the trunk: of a number its user, a SIP URI as it is. */
export const targetAt = (trunk: Trunk | undefined, host: string, target: string): string => {
  if (/^sips?:/i.test(target)) return target
  const base = trunk?.uri ?? Uri.make(host)
  return Uri.text({ ...base, user: target })
}

/** Our address at the trunk. */
export const addressAt = ({ uri }: Pick<Trunk, "uri">, user: string | undefined): string =>
  Uri.text(Uri.make(uri.host, { scheme: uri.scheme, user, port: uri.port }))

export const transportOf = ({ transport = "udp", uri }: Pick<Trunk, "uri" | "transport">): Peer["transport"] =>
  Locator.transportOf(uri) ?? transport
