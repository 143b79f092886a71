import type { AudioFormat } from "@svc/providers/Audio"
import { alawSilence, alawToPcm, mulawSilence, mulawToPcm, pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"

/** One of the two laws of G.711, with its conversions. */
export interface Law {
  readonly format: AudioFormat
  readonly silence: number
  readonly decode: typeof mulawToPcm
  readonly encode: typeof pcmToMulaw
}

export const mulaw: Law = {
  format: { encoding: "mulaw", sampleRate: 8000 },
  silence: mulawSilence,
  decode: mulawToPcm,
  encode: pcmToMulaw
}

export const alaw: Law = {
  format: { encoding: "alaw", sampleRate: 8000 },
  silence: alawSilence,
  decode: alawToPcm,
  encode: pcmToAlaw
}

/** The law of a leg that may have one of these formats: the wanted one, else mu-law, else A-law. */
export const lawAmong = (formats: ReadonlyArray<AudioFormat>, wanted: "mulaw" | "alaw" = "mulaw"): Law | undefined => {
  const possible = [mulaw, alaw].filter(({ format }) =>
    formats.some(({ encoding, sampleRate }) => encoding === format.encoding && sampleRate === format.sampleRate)
  )
  return possible.find(({ format }) => format.encoding === wanted) ?? possible[0]
}
