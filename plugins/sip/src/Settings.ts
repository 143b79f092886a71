import { isIP } from "node:net"
import { Schema } from "effect"
import { usersOf } from "./auth/Users.ts"
import { isCidr } from "./Cidr.ts"
import { type Codec, codecs, isCodecName } from "./Codec.ts"
import { firstTrunk, furtherTrunks } from "./TrunkSettings.ts"
import type { Peer } from "./transaction/Peer.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const parts = (text: string): ReadonlyArray<string> =>
  text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]))

/** A setting that is a text with a rule. */
const text = (isValid: (value: string) => boolean, message: string) =>
  Schema.String.pipe(Schema.filter((value) => isValid(value.trim()), { message: () => message }))

/** `address:port`, IPv6 in brackets; port 0 is any free one. */
export const bindOf = (value: string): { readonly address: string; readonly port: number } | undefined => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([\d.]+)):(\d{1,5})$/i.exec(value.trim())
  const address = match?.[1] ?? match?.[2] ?? ""
  const port = Number(match?.[3] ?? Number.NaN)
  return isIP(address) === 0 || !(port <= 65_535) ? undefined : { address, port }
}

/** `20000-21999`. */
export const portsOf = (value: string): { readonly first: number; readonly last: number } | undefined => {
  const match = /^(\d{1,5})\s*-\s*(\d{1,5})$/.exec(value.trim())
  const [first, last] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)]
  return first < 1024 || last > 65_535 || last <= first ? undefined : { first, last }
}

export type Transport = Peer["transport"]

const isTransport = (name: string): name is Transport => name === "udp" || name === "tcp" || name === "tls"

/** In the order in which they are named. */
export const transportsOf = (value: string): ReadonlyArray<Transport> => parts(value.toLowerCase()).filter(isTransport)

export const codecsOf = (value: string): ReadonlyArray<Codec> =>
  parts(value.toUpperCase()).flatMap((name) => (isCodecName(name) ? [codecs[name]] : []))

export const allowOf = (value: string): ReadonlyArray<string> => parts(value)

const count = (most: number) =>
  Schema.NumberFromString.pipe(
    Schema.filter((value) => Number.isInteger(value) && value >= 1 && value <= most, {
      message: () => `must be a whole number from 1 to ${most}`
    })
  )

const all = (value: string, isValid: (part: string) => boolean): boolean =>
  parts(value).length > 0 && parts(value).every(isValid)

/** The settings of the plugin: `SVC_SIP_BIND` and so on. See README.md. */
export const Settings = Schema.Struct({
  bind: optional(text((value) => bindOf(value) !== undefined, "must be an address and a port, such as 0.0.0.0:5060")),
  transports: optional(
    text((value) => all(value.toLowerCase(), isTransport), "must be a comma-separated list of udp, tcp and tls")
  ),
  tlsBind: optional(
    text((value) => bindOf(value) !== undefined, "must be an address and a port, such as 0.0.0.0:5061")
  ),
  tlsCert: optional(Schema.NonEmptyString),
  tlsKey: optional(Schema.NonEmptyString),
  tlsCa: optional(Schema.NonEmptyString),
  externalAddress: optional(text((value) => isIP(value) !== 0, "must be an IP address")),
  rtpPorts: optional(text((value) => portsOf(value) !== undefined, "must be a range of ports, such as 20000-21999")),
  allow: optional(
    text((value) => all(value, isCidr), "must be addresses or ranges, such as 192.0.2.7,198.51.100.0/24")
  ),
  ...firstTrunk,
  users: optional(
    Schema.Redacted(
      text(
        (value) => usersOf(value) !== undefined,
        "must be names and passwords, such as anna:secret,door:other:+4930123456, each name and number once"
      )
    )
  ),
  usersDigest: optional(Schema.Literal("MD5", "SHA-256", "SHA-256,MD5")),
  codecs: optional(
    text((value) => all(value.toUpperCase(), isCodecName), "must be a comma-separated list of PCMA and PCMU")
  ),
  srtp: optional(Schema.Literal("off", "optional", "required")),
  transfer: optional(Schema.Literal("auto", "refer", "bridge")),
  callsPerSource: optional(count(100_000)),
  requestsPerSecond: optional(count(1_000_000)),
  mediaTimeoutSeconds: optional(count(86_400)),
  ...furtherTrunks
})

export type Settings = typeof Settings.Type
