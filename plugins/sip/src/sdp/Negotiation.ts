import { write } from "sdp-transform"
import { type Codec, codecs } from "../Codec.ts"
import { type Family, plainAddress } from "../rtp/MediaAddress.ts"
import type { CryptoLine } from "../rtp/SdesCrypto.ts"
import { keyTextOf } from "../rtp/SdesCrypto.ts"
import type { Description, Direction, Section } from "./Description.ts"
import { codecOf, hasAddress, keyOf, obstacleOf } from "./Obstacle.ts"

/**
 * Whether audio is encrypted (SRTP with keys in the description, RFC 4568). `optional`: where the other side has keys too.
 * `required`: always, and without keys there is no call.
 */
export type Encryption = "off" | "optional" | "required"

/** Our side of a call's audio. */
export interface Local {
  /** The address that the peer sends to, without brackets. */
  readonly address: string
  readonly port: number
  /** Identifies our descriptions of this call: digits. */
  readonly sessionId: string
  /** Grows with each description that differs from the one before. */
  readonly version: number
  /** In the order of preference. */
  readonly codecs: ReadonlyArray<Codec>
  readonly direction: Direction
  /** `RTP/AVP` where absent; an answer has the protocol of its offer. */
  readonly protocol?: string
  /** Our keys. */
  readonly crypto?: ReadonlyArray<CryptoLine>
}

/** What both sides have agreed on. */
export interface Agreed {
  readonly codec: Codec
  /** The payload types that the peer expects from us, and that it sends, which are the same here. */
  readonly payloadType: number
  /** The payload type of telephone-event (RFC 4733); undefined: digits go by INFO. */
  readonly events: number | undefined
  /** In an answer to our offer: the types that the peer may send besides, those of our offer among them (RFC 3264, 6.1). */
  readonly others?: ReadonlyArray<{ readonly codec: Codec; readonly payloadType: number }>
  /** In an answer that gives telephone-event another number: that of our offer, with which the peer sends (RFC 3264, 6.1). */
  readonly offeredEvents?: number
  /** Comfort noise (RFC 3389) was offered, with its type 13. */
  readonly comfortNoise: boolean
  /** Where our packets go. Null while the peer has no address (`c=0.0.0.0`). */
  readonly remote: { readonly address: string; readonly port: number } | null
  readonly rtcpPort: number
  readonly rtcpMux: boolean
  /** Milliseconds of audio in the packets that we send. */
  readonly ptime: number
  /** Our direction: `sendonly` and `inactive` mean that nothing of the peer reaches the agent. */
  readonly direction: Direction
  /** The index of the audio section. */
  readonly section: number
  /** SRTP: the peer's key, and the protocol in the description. Absent: RTP. */
  readonly srtp?: { readonly line: CryptoLine; readonly protocol: string }
}

/** What is wanted of a description of the peer. */
export interface Wanted extends Pick<Local, "codecs" | "direction"> {
  /** `off` where absent. */
  readonly encryption?: Encryption
  /** It answers an offer of ours with these keys, of which it names one. Absent: it is an offer. */
  readonly offered?: ReadonlyArray<CryptoLine>
  /** The families of addresses that our socket can send to and that we have one of; all where absent. */
  readonly families?: ReadonlyArray<Family>
}

const ptimes: ReadonlyArray<number> = [10, 20, 30, 40, 60]

/** The length of our packets: what the peer asks for, when it is one of the usual ones. */
const ptimeOf = ({ maxptime = 1000, ptime = 20 }: Section): number => {
  const wanted = Math.min(ptime, maxptime)
  return ptimes.findLast((each) => each <= wanted) ?? 10
}

/** Our direction for one of the peer, limited to what we want. */
const mirrored = (peer: Direction, wanted: Direction, held: boolean): Direction => {
  const send = (peer === "sendrecv" || peer === "recvonly") && (wanted === "sendrecv" || wanted === "sendonly") && !held
  const receive = (peer === "sendrecv" || peer === "sendonly") && (wanted === "sendrecv" || wanted === "recvonly")
  return send ? (receive ? "sendrecv" : "sendonly") : receive ? "recvonly" : "inactive"
}

/** The payload type of telephone-event in our offers. */
const offeredEvents = 101

/**
 * What a peer that answers our offer may send besides what we send: each codec of the answer, by its number there and by
 * that of our offer.
 */
const receivedBesides = (
  { codecs: answered }: Section,
  { codecs: own }: Wanted,
  payloadType: number,
  events: number | undefined
): Pick<Agreed, "others" | "offeredEvents"> => {
  const types = new Map<number, Codec>()
  for (const each of answered) {
    const codec = each.clockRate === 8000 ? own.find(({ name }) => name === each.name) : undefined
    if (codec !== undefined) types.set(each.payloadType, codec)
  }
  const isFree = (type: number): boolean => !answered.some((each) => each.payloadType === type)
  for (const codec of new Set(types.values())) if (isFree(codec.payloadType)) types.set(codec.payloadType, codec)
  types.delete(payloadType)
  const others = [...types].map(([type, codec]) => ({ codec, payloadType: type }))
  const hasOwnEvents = events !== undefined && events !== offeredEvents && isFree(offeredEvents)
  return { ...(others.length === 0 ? {} : { others }), ...(hasOwnEvents ? { offeredEvents } : {}) }
}

/**
 * What a description of the peer and ours have in common: its first codec that we have. Undefined: no audio is possible, for
 * the reason that `obstacleIn` has.
 * Of several audio sections the first usable one is taken,
 * before all those with keys where these are wanted.
 */
export const agree = (peer: Description, local: Wanted): Agreed | undefined => {
  const sections = [...peer.sections.entries()].map(([index, section]) => ({
    index,
    section,
    key: keyOf(section, local)
  }))
  const encrypted = sections.filter(({ key }) => key !== undefined)
  for (const { index, key, section } of [...encrypted, ...sections.filter((each) => !encrypted.includes(each))]) {
    const found = obstacleOf(section, key, local) === undefined ? codecOf(section, local) : undefined
    if (found === undefined || section.address === null) continue
    const address = plainAddress(section.address) ?? section.address
    const held = !hasAddress(address)
    const events = section.codecs.find(
      ({ clockRate, name }) => name === "TELEPHONE-EVENT" && clockRate === 8000
    )?.payloadType
    return {
      codec: codecs[found.name],
      payloadType: found.payloadType,
      events,
      ...(local.offered === undefined ? {} : receivedBesides(section, local, found.payloadType, events)),
      comfortNoise: section.codecs.some(({ name, payloadType }) => name === "CN" && payloadType === 13),
      remote: held ? null : { address, port: section.port },
      rtcpPort: section.rtcpPort ?? Math.min(section.port + 1, 65_535),
      rtcpMux: section.rtcpMux,
      ptime: ptimeOf(section),
      direction: mirrored(section.direction, local.direction, held),
      section: index,
      ...(key === undefined ? {} : { srtp: { line: key, protocol: section.protocol } })
    }
  }
  return undefined
}

const origin = (local: Local, media: Parameters<typeof write>[0]["media"]): Uint8Array => {
  const ipVer = local.address.includes(":") ? 6 : 4
  return Buffer.from(
    write({
      version: 0,
      origin: {
        username: "svc",
        sessionId: local.sessionId,
        sessionVersion: local.version,
        netType: "IN",
        ipVer,
        address: local.address
      },
      name: "-",
      connection: { version: ipVer, ip: local.address },
      timing: { start: 0, stop: 0 },
      media
    })
  )
}

const cryptoOf = ({ crypto = [] }: Local) =>
  crypto.length === 0
    ? {}
    : { crypto: crypto.map(({ keys, tag }) => ({ id: tag, suite: keys.suite, config: keyTextOf(keys) })) }

/** An offer of our codecs, with telephone-event. */
export const offer = (local: Local): Uint8Array =>
  origin(local, [
    {
      type: "audio",
      port: local.port,
      protocol: local.protocol ?? "RTP/AVP",
      payloads: [...local.codecs.map((codec) => codec.payloadType), offeredEvents].join(" "),
      rtp: [
        ...local.codecs.map(({ name, payloadType }) => ({ payload: payloadType, codec: name, rate: 8000 })),
        { payload: offeredEvents, codec: "telephone-event", rate: 8000 }
      ],
      fmtp: [{ payload: offeredEvents, config: "0-15" }],
      ptime: 20,
      direction: local.direction,
      rtcpMux: "rtcp-mux",
      ...cryptoOf(local)
    }
  ])

/**
 * The answer to an offer: the agreed audio, and every other section refused with port 0 (RFC 3264, 6), T.38 and video
 * among them.
 */
export const answer = (peer: Description, agreed: Agreed, local: Local): Uint8Array =>
  origin(
    local,
    peer.sections.map((section, index) => {
      if (index !== agreed.section) {
        const { formats, protocol, type } = section
        return { type, port: 0, protocol, payloads: formats === "" ? "0" : formats, rtp: [], fmtp: [] }
      }
      const { codec, comfortNoise, events, payloadType } = agreed
      return {
        type: "audio",
        port: local.port,
        protocol: section.protocol,
        payloads: [payloadType, ...(comfortNoise ? [13] : []), ...(events === undefined ? [] : [events])].join(" "),
        rtp: [
          { payload: payloadType, codec: codec.name, rate: 8000 },
          ...(comfortNoise ? [{ payload: 13, codec: "CN", rate: 8000 }] : []),
          ...(events === undefined ? [] : [{ payload: events, codec: "telephone-event", rate: 8000 }])
        ],
        fmtp: events === undefined ? [] : [{ payload: events, config: "0-15" }],
        ptime: agreed.ptime,
        direction: agreed.direction,
        ...(agreed.rtcpMux ? { rtcpMux: "rtcp-mux" } : {}),
        ...cryptoOf(local)
      }
    })
  )
