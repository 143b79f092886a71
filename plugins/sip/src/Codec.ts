import type { AudioFormat } from "@svc/providers/Audio"

/** The codecs of the telephone network that calls over SIP can have, by their names in SDP (RFC 3551, 6). */
export type CodecName = "PCMA" | "PCMU"

/** A codec of RTP audio. */
export interface Codec {
  readonly name: CodecName
  /** The static payload type (RFC 3551, table 4). */
  readonly payloadType: number
  readonly format: AudioFormat
}

export const codecs: { readonly [K in CodecName]: Codec } = {
  PCMA: { name: "PCMA", payloadType: 8, format: { encoding: "alaw", sampleRate: 8000 } },
  PCMU: { name: "PCMU", payloadType: 0, format: { encoding: "mulaw", sampleRate: 8000 } }
}

/** Whether this is the name of a codec; case is that of SDP, where it does not matter, in capitals. */
export const isCodecName = (name: string): name is CodecName => Object.hasOwn(codecs, name)
