import { isIP } from "node:net"
import { parse as parseSdp } from "sdp-transform"
import { type CryptoLine, cryptoFault, readCrypto } from "../rtp/SdesCrypto.ts"

/** The direction of a stream, seen from one side; in a description that of its writer. */
export type Direction = "sendrecv" | "sendonly" | "recvonly" | "inactive"

/** A codec that a description offers. */
export interface OfferedCodec {
  readonly payloadType: number
  /** In capitals: `PCMA`, `TELEPHONE-EVENT`. */
  readonly name: string
  readonly clockRate: number
}

/** A media section of a description, as far as audio needs it. */
export interface Section {
  /** `audio`, `video`, `image`. */
  readonly type: string
  /** `RTP/AVP`, `RTP/SAVP`, `udptl`. */
  readonly protocol: string
  /** 0: refused or ended. */
  readonly port: number
  /** The payload types or formats, as written. */
  readonly formats: string
  /** Without brackets; null when the section has none that is usable. */
  readonly address: string | null
  /** What its line `c=` has instead of an IP address; undefined: nothing. Host names are not supported. */
  readonly hostName: string | undefined
  readonly direction: Direction
  /** In the order of preference; payload types that have no known name are left out. */
  readonly codecs: ReadonlyArray<OfferedCodec>
  /** Milliseconds of audio that the writer wants in a packet. */
  readonly ptime: number | undefined
  readonly maxptime: number | undefined
  /** Where RTCP goes, when it is not the next port. */
  readonly rtcpPort: number | undefined
  readonly rtcpMux: boolean
  /** The keys of SRTP (RFC 4568) that we can use, in the order of preference. */
  readonly crypto: ReadonlyArray<CryptoLine>
  /** Why we can use none of its lines `a=crypto`; undefined: there is none, or one that we can use. */
  readonly keyFault: string | undefined
}

/** A session description (RFC 8866), as far as calls need it. */
export interface Description {
  /** The version in the `o=` line, which grows with each change; as text, because it may be as large as 2^64. */
  readonly version: string
  readonly sections: ReadonlyArray<Section>
}

/** Media sections at most; more are no call. */
export const maxSections = 16
/** Bytes of a description at most. */
export const maxBytes = 16_384

/** Payload types that need no `a=rtpmap` (RFC 3551, table 4), as far as they may matter. */
const statics: ReadonlyMap<number, string> = new Map([
  [0, "PCMU"],
  [8, "PCMA"],
  [13, "CN"]
])

const within = (value: unknown, least: number, most: number): number | undefined => {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value
  return typeof number === "number" && Number.isInteger(number) && number >= least && number <= most
    ? number
    : undefined
}

const isDirection = (value: unknown): value is Direction =>
  value === "sendrecv" || value === "sendonly" || value === "recvonly" || value === "inactive"

/** The address of a `c=` line, or its host name. `0.0.0.0` and `::` are kept: they mean hold (RFC 3264, 8.4). */
const placeOf = (connection: unknown): Pick<Section, "address" | "hostName"> => {
  const isThere = typeof connection === "object" && connection !== null && "ip" in connection
  const text = isThere ? (String(connection.ip).split("/", 1)[0] ?? "") : ""
  if (isIP(text) !== 0) return { address: text, hostName: undefined }
  return { address: null, hostName: text === "" ? undefined : text.slice(0, 100) }
}

type Parsed = ReturnType<typeof parseSdp>

const codecsOf = (media: Parsed["media"][number], formats: string): ReadonlyArray<OfferedCodec> => {
  const rtp = Array.isArray(media.rtp) ? media.rtp : []
  return formats.split(" ").flatMap((text) => {
    const payloadType = within(text, 0, 127)
    if (payloadType === undefined) return []
    const map = rtp.find((each) => Number(each.payload) === payloadType)
    const name = map === undefined ? statics.get(payloadType) : String(map.codec).toUpperCase()
    const clockRate = map === undefined ? 8000 : within(map.rate, 1, 192_000)
    return name === undefined || clockRate === undefined ? [] : [{ payloadType, name, clockRate }]
  })
}

/** Of the lines of a section; the parser of the rest would leave out session parameters. */
const cryptoOf = (lines: string): Pick<Section, "crypto" | "keyFault"> => {
  const values = [...lines.matchAll(/^a=crypto:([^\r\n]*)/gm)].map(([, value = ""]) => value)
  const crypto = values.flatMap((value) => readCrypto(value) ?? [])
  const [first] = values
  return { crypto, keyFault: first === undefined || crypto.length > 0 ? undefined : cryptoFault(first) }
}

const sectionOf = (session: Parsed, media: Parsed["media"][number], lines: string): Section | undefined => {
  const port = within(media.port, 0, 65_535)
  if (port === undefined || typeof media.type !== "string" || typeof media.protocol !== "string") return undefined
  const formats = String(media.payloads ?? "")
  const own: unknown = media.direction ?? ("direction" in session ? session.direction : undefined)
  return {
    type: media.type,
    protocol: media.protocol,
    port,
    formats,
    ...placeOf(media.connection ?? session.connection),
    direction: isDirection(own) ? own : "sendrecv",
    codecs: codecsOf(media, formats),
    ptime: within(media.ptime, 1, 1000),
    maxptime: within(media.maxptime, 1, 1000),
    rtcpPort: within(media.rtcp?.port, 1, 65_535),
    rtcpMux: media.rtcpMux !== undefined,
    ...cryptoOf(lines)
  }
}

/** Parses a description; undefined when it is malformed. Never throws. */
export const parse = (body: Uint8Array): Description | undefined => {
  if (body.length === 0 || body.length > maxBytes) return undefined
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")
  if (!/^v=0\r?\n/.test(text) || !/^o=\S+ \S+ \d+ IN IP[46] \S+ *\r?$/m.test(text)) return undefined
  let session: Parsed
  try {
    // The first port of several (RFC 8866, 5.14) is ours.
    session = parseSdp(text.replace(/^(m=\S+ \d+)\/[1-9]\d{0,4} /gm, "$1 "))
  } catch {
    return undefined
  }
  const [, ...parts] = text.split(/^m=/m)
  if (session.media.length === 0 || session.media.length > maxSections || parts.length !== session.media.length)
    return undefined
  const sections = session.media.map((media, index) => sectionOf(session, media, parts[index] ?? ""))
  const version = /^o=\S+ \S+ (\d+) /m.exec(text)?.[1] ?? ""
  return sections.some((section) => section === undefined)
    ? undefined
    : { version, sections: sections.flatMap((section) => (section === undefined ? [] : [section])) }
}
