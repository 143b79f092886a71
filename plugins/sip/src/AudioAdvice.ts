import type { Codec } from "./Codec.ts"
import { familyOf } from "./rtp/MediaAddress.ts"
import { codecsIn } from "./sdp/CodecNames.ts"
import type { Encryption } from "./sdp/Negotiation.ts"
import type { Obstacle } from "./sdp/Obstacle.ts"

/** What our side is set to. */
export interface OwnAudio {
  readonly codecs: ReadonlyArray<Codec>
  readonly encryption: Encryption
}

const usable = "RTP/AVP, or RTP/SAVP with a=crypto"

const profileText = (protocol: string): string =>
  /TLS/.test(protocol)
    ? `the profile ${protocol}, as browsers do, whose keys come by DTLS; let it use ${usable}`
    : `the profile ${protocol}; let it use ${usable}`

/**
 * What a description has that is in the way of a call, and what the operator changes, for a sentence such as `it offers …`
 * or `its answer has …`.
 */
export const obstacleText = (obstacle: Obstacle, { codecs, encryption }: OwnAudio): string => {
  switch (obstacle._tag) {
    case "Malformed":
      return "a session description that cannot be read"
    case "NoAudio":
      return `no audio, only ${obstacle.types.join(", ")}`
    case "NoPort":
      return "audio with port 0, which means none"
    case "Profile":
      return profileText(obstacle.protocol)
    case "EncryptionOff":
      return `encrypted audio (${obstacle.protocol}), and SVC_SIP_SRTP is off; set it to optional, or let it use RTP/AVP`
    case "EncryptionRequired":
      return `${obstacle.protocol} without keys, and SVC_SIP_SRTP is required; let it encrypt (SRTP), or set optional`
    case "Keys": {
      const { fault = "no key (a=crypto)", protocol } = obstacle
      const wanted = "a=crypto with AES_CM_128_HMAC_SHA1_80, without MKI"
      return `encrypted audio (${protocol}) with ${fault}; let it use ${wanted}`
    }
    case "NoAddress":
      return "audio without an address; let it have a line c="
    case "HostName":
      return `audio at ${obstacle.name}, and host names are not supported in c=, only IP addresses`
    case "Family": {
      const [theirs, ours] = familyOf(obstacle.address) === 6 ? ["IPv6", "IPv4"] : ["IPv4", "IPv6"]
      const both = "set SVC_SIP_BIND to [::]:5060, without SVC_SIP_EXTERNAL_ADDRESS, for both"
      return `audio at ${obstacle.address} (${theirs}), and ours is ${ours}; let it use ${ours}, or ${both}`
    }
    case "Codecs": {
      const own = codecs.map(({ name }) => name).join(",")
      const required = encryption === "required" ? ", and SVC_SIP_SRTP is required" : ""
      return `${obstacle.section.protocol} with ${codecsIn(obstacle.section)}; SVC_SIP_CODECS has ${own}${required}`
    }
  }
}
