import { type AudioFormat, mulaw8k } from "@svc/providers/Audio"
import { alawToPcm, mulawToPcm, pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"

/** A codec of the network by its name in RTP. */
export interface Codec {
  readonly name: "PCMU" | "PCMA"
  readonly format: AudioFormat
}

/** The codecs, the preferred one first: between these two Telnyx converts, others it passes as they are. */
export const codecs: ReadonlyArray<Codec> = [
  { name: "PCMU", format: mulaw8k },
  { name: "PCMA", format: { encoding: "alaw", sampleRate: 8000 } }
]

/** The codec of the first format that the network has. */
export const codecFor = (formats: ReadonlyArray<AudioFormat>): Codec | undefined => {
  for (const { encoding, sampleRate } of formats) {
    const codec = codecs.find(({ format }) => format.encoding === encoding && format.sampleRate === sampleRate)
    if (codec !== undefined) return codec
  }
  return undefined
}

const table = (convert: (code: Uint8Array, pcm: Int16Array, out: Uint8Array) => void): Uint8Array => {
  const out = new Uint8Array(256)
  convert(
    Uint8Array.from({ length: 256 }, (_, code) => code),
    new Int16Array(256),
    out
  )
  return out
}
const toAlaw = table((codes, pcm, out) => {
  mulawToPcm(codes, 0, 256, pcm, 0)
  pcmToAlaw(pcm, 0, 256, out, 0)
})
const toMulaw = table((codes, pcm, out) => {
  alawToPcm(codes, 0, 256, pcm, 0)
  pcmToMulaw(pcm, 0, 256, out, 0)
})

/** Names of the codecs in lower case: those of RTP (RFC 3551, 6) and of media types that Telnyx and others use. */
const names: ReadonlyMap<string, Codec["name"]> = new Map([
  ["pcmu", "PCMU"],
  ["mulaw", "PCMU"],
  ["ulaw", "PCMU"],
  ["pcma", "PCMA"],
  ["alaw", "PCMA"]
])

/** The codec of a name such as `PCMU`, `pcmu/8000`, `audio/PCMU` or `audio/x-mulaw;rate=8000`. */
const nameOf = (streamed: string): Codec["name"] | undefined => {
  const [, name = ""] = /^(?:audio\/)?(?:x-)?([a-z0-9]+)(?:[/;].*)?$/.exec(streamed.trim().toLowerCase()) ?? []
  return names.get(name)
}

/**
 * How audio of a stream becomes that of a leg: Telnyx sends the codec of the call where it cannot convert to the one that
 * was asked for. Undefined: it cannot be converted.
 */
export const converter = (
  streamed: string | undefined,
  wanted: Codec
): ((audio: Uint8Array) => Uint8Array) | undefined => {
  const name = streamed === undefined ? wanted.name : nameOf(streamed)
  if (name === undefined) return undefined
  if (name === wanted.name) return (audio) => audio
  const codes = wanted.name === "PCMA" ? toAlaw : toMulaw
  return (audio) => audio.map((code) => codes[code] ?? 0)
}
