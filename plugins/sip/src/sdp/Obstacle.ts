import { type CodecName, isCodecName } from "../Codec.ts"
import { familyOf, plainAddress } from "../rtp/MediaAddress.ts"
import type { CryptoLine } from "../rtp/SdesCrypto.ts"
import type { Description, OfferedCodec, Section } from "./Description.ts"
import type { Wanted } from "./Negotiation.ts"

/** Why a description of the peer gives no audio. */
export type Obstacle =
  | { readonly _tag: "Malformed" }
  /** There is no section of audio, but perhaps others of these types. */
  | { readonly _tag: "NoAudio"; readonly types: ReadonlyArray<string> }
  /** The audio is refused or ended. */
  | { readonly _tag: "NoPort" }
  /** A profile that is neither RTP/AVP nor RTP/SAVP. */
  | { readonly _tag: "Profile"; readonly protocol: string }
  /** Encrypted audio, and we do not encrypt. */
  | { readonly _tag: "EncryptionOff"; readonly protocol: string }
  /** Audio without keys, and we always encrypt. */
  | { readonly _tag: "EncryptionRequired"; readonly protocol: string }
  /** Encrypted audio with no key that we can use. `fault`: what is wrong with those that it has; undefined: it has none. */
  | { readonly _tag: "Keys"; readonly protocol: string; readonly fault: string | undefined }
  | { readonly _tag: "NoAddress" }
  | { readonly _tag: "HostName"; readonly name: string }
  /** Our socket cannot send to this address. */
  | { readonly _tag: "Family"; readonly address: string }
  | { readonly _tag: "Codecs"; readonly section: Section }

/** In the order in which a section is examined: the last of several is the closest to a call. */
const order: ReadonlyArray<Obstacle["_tag"]> = [
  "Malformed",
  "NoAudio",
  "NoPort",
  "Profile",
  "EncryptionOff",
  "EncryptionRequired",
  "Keys",
  "NoAddress",
  "HostName",
  "Family",
  "Codecs"
]

/** Whether audio can be sent to an address of a description. `0.0.0.0` and `::` mean hold (RFC 3264, 8.4). */
export const hasAddress = (address: string): boolean => address !== "0.0.0.0" && address !== "::"

/** The peer's key for a section; undefined: it is not to be encrypted. */
export const keyOf = ({ crypto }: Section, { encryption = "off", offered }: Wanted): CryptoLine | undefined => {
  if (encryption === "off") return undefined
  return crypto.find(
    ({ keys, tag }) => offered === undefined || offered.some((own) => own.tag === tag && own.keys.suite === keys.suite)
  )
}

/** The first codec of a section that we have. */
export const codecOf = (
  { codecs }: Section,
  wanted: Wanted
): (OfferedCodec & { readonly name: CodecName }) | undefined =>
  codecs.find(
    (each): each is OfferedCodec & { readonly name: CodecName } =>
      each.clockRate === 8000 && isCodecName(each.name) && wanted.codecs.some((codec) => codec.name === each.name)
  )

/** Many phones offer keys with RTP/AVP where encryption is optional, beside RTP/SAVP as RFC 4568 has it. */
const profileObstacle = (
  { crypto, keyFault, protocol }: Section,
  key: CryptoLine | undefined,
  { encryption = "off" }: Wanted
): Obstacle | undefined => {
  if (protocol !== "RTP/AVP" && protocol !== "RTP/SAVP") return { _tag: "Profile", protocol }
  if (key !== undefined || (protocol === "RTP/AVP" && encryption !== "required")) return undefined
  if (encryption === "off") return { _tag: "EncryptionOff", protocol }
  const fault = crypto.length > 0 ? "a key that answers none of ours" : keyFault
  return protocol === "RTP/AVP" && fault === undefined
    ? { _tag: "EncryptionRequired", protocol }
    : { _tag: "Keys", protocol, fault }
}

const addressObstacle = ({ address, hostName }: Section, { families }: Wanted): Obstacle | undefined => {
  if (address === null) return hostName === undefined ? { _tag: "NoAddress" } : { _tag: "HostName", name: hostName }
  if (families === undefined || !hasAddress(plainAddress(address) ?? address) || families.includes(familyOf(address)))
    return undefined
  return { _tag: "Family", address }
}

/** Why a section cannot be the audio of a call, with the peer's key for it; undefined: it can. */
export const obstacleOf = (section: Section, key: CryptoLine | undefined, wanted: Wanted): Obstacle | undefined => {
  if (section.type !== "audio") return { _tag: "NoAudio", types: [section.type] }
  if (section.port === 0) return { _tag: "NoPort" }
  const found = profileObstacle(section, key, wanted) ?? addressObstacle(section, wanted)
  if (found !== undefined) return found
  return codecOf(section, wanted) === undefined ? { _tag: "Codecs", section } : undefined
}

/** Why a description gives no audio: the obstacle of the section that is the closest to a call. `peer`: undefined is malformed. */
export const obstacleIn = (peer: Description | undefined, wanted: Wanted): Obstacle => {
  const found = (peer?.sections ?? []).flatMap((section) => obstacleOf(section, keyOf(section, wanted), wanted) ?? [])
  const [closest] = found.toSorted((a, b) => order.indexOf(b._tag) - order.indexOf(a._tag))
  if (closest?._tag !== "NoAudio") return closest ?? { _tag: "Malformed" }
  return { _tag: "NoAudio", types: [...new Set(peer?.sections.map(({ type }) => type))] }
}
