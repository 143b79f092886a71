import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { mulawToPcm } from "@svc/providers/G711"
import { activeRms, atLevel } from "./Signal.ts"
import type { Utterance } from "./SpeechTrack.ts"

const folder = fileURLToPath(new URL("../../test/fixtures/", import.meta.url))

/** Recordings in mu-law at 8 kHz, by espeak-ng: `npm run fixtures:speech` makes them. */
export const recordings = (kind: "callers" | "agent"): ReadonlyArray<Utterance> =>
  readdirSync(`${folder}${kind}`)
    .toSorted()
    .map((name) => {
      const bytes = readFileSync(`${folder}${kind}/${name}`)
      const pcm = new Int16Array(bytes.length)
      mulawToPcm(bytes, 0, bytes.length, pcm, 0)
      const signal = Float32Array.from(pcm)
      return { name, signal: atLevel(signal, activeRms(signal), 0) }
    })
