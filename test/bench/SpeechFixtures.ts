// Writes the recordings that the tests of packages/audio and plugins/browser use, where espeak-ng is not installed: npm run
// fixtures:speech
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { louder } from "@svc/audio/testing/Signal"
import type { Utterance } from "@svc/audio/testing/SpeechTrack"
import { pcmToMulaw } from "@svc/providers/G711"
import { agent, callers, pageWords } from "./EspeakSpeech.ts"

const root = new URL("../../", import.meta.url)
const folderOf = (path: string): string => fileURLToPath(new URL(`${path}/`, root))

/** The active level of a recording in dBov. */
const level = -16

const write = (path: string, utterances: ReadonlyArray<Utterance>): void => {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  for (const { name, signal } of utterances) {
    const pcm = Int16Array.from(louder(signal, level), (x) => Math.max(-32_768, Math.min(32_767, Math.round(x))))
    const bytes = new Uint8Array(pcm.length)
    pcmToMulaw(pcm, 0, pcm.length, bytes, 0)
    writeFileSync(`${path}${name}.ulaw`, bytes)
  }
}

// Two of each language, one by each voice, so that all four kinds of sentences appear.
write(
  folderOf("packages/audio/test/fixtures/callers"),
  callers().filter((_, i) => i % 8 === (i >> 3) % 4 || i % 8 === 4 + (((i >> 3) + 2) % 4))
)
write(
  folderOf("packages/audio/test/fixtures/agent"),
  agent().filter((_, i) => [1, 3, 9].includes(i))
)
write(folderOf("plugins/browser/test/fixtures"), pageWords())
