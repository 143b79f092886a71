import { spawnSync } from "node:child_process"
import type { ServerResponse } from "node:http"
import { Resampler } from "@svc/audio/Resampler"
import * as EspeakTextToSpeech from "@svc/plugin-espeak/EspeakTextToSpeech"
import { pcmToMulaw } from "@svc/providers/G711"
import { speakText } from "@svc/providers/SpeechTurn"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { EmulatedRequest } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { findIn } from "./Correlation.ts"

/** Speech of espeak-ng, and how it is recognized by its samples. Sounds are PCM16 at 8 kHz. */

export const isInstalled = spawnSync("espeak-ng", ["--version"]).status === 0

export const absent = "espeak-ng is not installed: its tests were not run (on Debian: apt-get install espeak-ng)"

const resampled = (from: number, samples: Int16Array): Int16Array => {
  const resampler = new Resampler(from, 8000)
  return Int16Array.from([...resampler.push(samples), ...resampler.end()])
}

const wavSamples = (file: Buffer): Int16Array =>
  Int16Array.from({ length: (file.length - 44) >> 1 }, (_, i) => file.readInt16LE(44 + 2 * i))

/** What a caller says, with pauses at both ends taken away. */
export const callerVoice = (text: string): Int16Array => {
  const { stdout } = spawnSync("espeak-ng", ["-v", "en-us+m3", "--stdout", text], { maxBuffer: 2 ** 26 })
  return resampled(stdout.readUInt32LE(24), wavSamples(stdout))
}

/** What the plugin makes of a text in a voice of the platform. */
export const agentVoice = (text: string, voice: string): Effect.Effect<Int16Array> =>
  Effect.gen(function* () {
    const provider = yield* TextToSpeech
    const samples: Array<number> = []
    const sink = {
      write: (more: Int16Array) => samples.push(...more) > 0,
      align: () => {},
      drained: Effect.void
    }
    const turn = { callId: "call_1", turn: "1", voice, language: "en-US", sampleRate: 22_050, speed: 1 }
    yield* Effect.orDie(speakText(provider, { ...turn, sink, text }))
    return resampled(22_050, Int16Array.from(samples))
  }).pipe(
    Effect.provide(
      EspeakTextToSpeech.layer({
        program: "espeak-ng",
        wordsPerMinute: 175,
        log: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
      })
    )
  )

/** Mu-law frames of 20 ms. */
export const framesOf = (pcm: Int16Array): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(pcm.length / 160) }, (_, index) => {
    const frame = new Uint8Array(160)
    const samples = new Int16Array(160)
    samples.set(pcm.subarray(index * 160, (index + 1) * 160))
    pcmToMulaw(samples, 0, 160, frame, 0)
    return frame
  })

const pieceSamples = 480
/** Frames may be lost between two pieces, or played twice. */
const driftSamples = 320
const enough = 0.8

/** Pieces of 60 ms that have sound, every 60 ms. */
const piecesOf = (pcm: Int16Array) => {
  const sound = Float32Array.from(pcm)
  const all = Array.from({ length: Math.floor(sound.length / pieceSamples) }, (_, index) => ({
    from: index * pieceSamples,
    piece: sound.subarray(index * pieceSamples, (index + 1) * pieceSamples)
  }))
  return all.filter(({ piece }) => piece.reduce((sum, sample) => sum + sample * sample, 0) / pieceSamples > 500 ** 2)
}

/** The share of the pieces of `pcm` that are in `sound` in their order and at their distance, 0 to 1. */
export const shareIn = (sound: Float32Array, pcm: Int16Array): number => {
  const pieces = piecesOf(pcm)
  const first = pieces.slice(0, 8).map(({ from, piece }) => ({ from, ...findIn(sound, piece) }))
  const anchor = first.find(({ correlation }) => correlation > enough)
  if (anchor === undefined) return 0
  let offset = anchor.at - anchor.from
  let found = 0
  for (const { from, piece } of pieces) {
    const near = findIn(sound, piece, Math.max(0, from + offset - driftSamples), from + offset + driftSamples)
    if (near.correlation <= enough) continue
    found++
    offset = near.at - from
  }
  return found / pieces.length
}

/** A transcription server with OpenAI's protocol, which recognizes some sounds by their samples. */
export class Ears {
  readonly #known: ReadonlyMap<string, Int16Array>
  /** What was heard, and how much of it was there. */
  readonly heard: Array<{ readonly text: string; readonly share: number; readonly seconds: number }> = []

  constructor(known: ReadonlyMap<string, Int16Array>) {
    this.#known = known
  }

  /** Answers a request. */
  readonly answer = ({ body, path }: EmulatedRequest, response: ServerResponse): void => {
    const json = (value: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
    if (path === "/v1/models") json({ object: "list", data: [{ id: "whisper-1" }] })
    else if (path === "/v1/audio/transcriptions") json({ text: this.#hear(body) })
    else response.writeHead(404).end()
  }

  #hear(form: Buffer): string {
    const start = form.indexOf("RIFF")
    const file = form.subarray(start, start + 44 + form.readUInt32LE(start + 40))
    const sound = Float32Array.from(resampled(file.readUInt32LE(24), wavSamples(file)))
    let best = { text: "", share: 0 }
    for (const [text, pcm] of this.#known) {
      const share = shareIn(sound, pcm)
      if (share > best.share) best = { text, share }
    }
    this.heard.push({ ...best, seconds: sound.length / 8000 })
    return best.share > 0.5 ? best.text : ""
  }
}
