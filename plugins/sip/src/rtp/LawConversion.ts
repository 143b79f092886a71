import { alawSilence, alawToPcm, mulawSilence, mulawToPcm, pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"
import type { Law } from "./MediaParameters.ts"

/** The byte of silence. */
export const silenceOf = (law: Law): number => (law === "mulaw" ? mulawSilence : alawSilence)

const tableOf = (decode: typeof mulawToPcm, encode: typeof pcmToAlaw): Uint8Array => {
  const pcm = new Int16Array(256)
  const table = new Uint8Array(256)
  decode(
    Uint8Array.from({ length: 256 }, (_, code) => code),
    0,
    256,
    pcm,
    0
  )
  encode(pcm, 0, 256, table, 0)
  return table
}

const fromMulaw = tableOf(mulawToPcm, pcmToAlaw)
const fromAlaw = tableOf(alawToPcm, pcmToMulaw)

/**
 * Copies `source[start..end]` to `target` at `at`, from one law to the other where they differ: the peer may change the
 * codec in the call, and the format of a call leg stays.
 */
export const copyAs = (
  from: Law,
  to: Law,
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number
): void => {
  if (from === to) {
    for (let index = start; index < end; index++) target[at + index - start] = source[index] ?? 0
    return
  }
  const table = from === "mulaw" ? fromMulaw : fromAlaw
  for (let index = start; index < end; index++) target[at + index - start] = table[source[index] ?? 0] ?? 0
}
