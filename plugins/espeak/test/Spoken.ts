import { spawnSync } from "node:child_process"
import { speakText } from "@svc/providers/SpeechTurn"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, Layer } from "effect"
import * as EspeakTextToSpeech from "../src/EspeakTextToSpeech.ts"

/** Whether the program is installed. */
export const isInstalled = spawnSync("espeak-ng", ["--version"]).status === 0

export const absent = "espeak-ng is not installed: its tests were not run (on Debian: apt-get install espeak-ng)"

export const layerOf = (program: string): Layer.Layer<TextToSpeech> =>
  Layer.unwrapEffect(
    Effect.map(makeHostDouble(), ({ host }) =>
      EspeakTextToSpeech.layer({ program, wordsPerMinute: 175, log: host.log })
    )
  )

export interface Wanted {
  readonly voice?: string
  readonly language?: string
  readonly speed?: number
}

/** What was written for a text, and its alignment. */
export const spoken = (text: string, { language = "en-US", speed = 1, voice = "Sarah" }: Wanted = {}) =>
  Effect.gen(function* () {
    const provider = yield* TextToSpeech
    const chunks: Array<Int16Array> = []
    const aligned: Array<readonly [characters: number, atSample: number]> = []
    const sink = {
      write: (samples: Int16Array) => chunks.push(samples) > 0,
      align: (characters: number, atSample: number) => void aligned.push([characters, atSample]),
      drained: Effect.void
    }
    yield* speakText(provider, { callId: "call_1", turn: "1", voice, language, sampleRate: 22_050, speed, sink, text })
    const samples = new Int16Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
    let at = 0
    for (const chunk of chunks) {
      samples.set(chunk, at)
      at += chunk.length
    }
    return { samples, aligned }
  })

/** The pitch of a voice in Hz: the median over its voiced stretches of 40 ms, by autocorrelation. */
export const pitchOf = (samples: Int16Array): number => {
  const size = 882
  const pitches: Array<number> = []
  for (let from = 0; from + 2 * size < samples.length; from += 2 * size) {
    const similarity = (lag: number) => {
      let product = 0
      let left = 0
      let right = 0
      for (let i = from; i < from + size; i += 2) {
        const [a = 0, b = 0] = [samples[i], samples[i + lag]]
        product += a * b
        left += a * a
        right += b * b
      }
      return product / Math.sqrt(left * right + 1)
    }
    // From 400 down to 70 Hz.
    const lags = Array.from({ length: 130 }, (_, n) => 55 + 2 * n)
    const values = lags.map(similarity)
    const best = Math.max(...values)
    // The first of about equal peaks: later ones are multiples of the period.
    const first = values.findIndex((value, n) => value > best - 0.03 && value >= (values[n + 1] ?? 0))
    if (best > 0.8) pitches.push(22_050 / (lags[first] ?? 55))
  }
  return pitches.sort((a, b) => a - b)[pitches.length >> 1] ?? 0
}
