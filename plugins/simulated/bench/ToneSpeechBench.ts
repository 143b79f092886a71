/**
 * Measures the cost of tone speech and the simulated network in microseconds of CPU per second of audio. Run with
 * `node --import tsx --conditions=@svc/source plugins/simulated/bench/ToneSpeechBench.ts`.
 */
import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { CallerAudio } from "../src/Network/CallerAudio.ts"
import { LineImpairments } from "../src/Network/LineImpairments.ts"
import { ManualTime } from "../src/Network/ManualTime.ts"
import { MediaClock } from "../src/Network/NetworkClock.ts"
import { readPhoneMessage, writeMedia } from "../src/Network/PhoneMessage.ts"
import { ToneDecoder } from "../src/ToneSpeech/ToneDecoder.ts"
import { ToneEncoder } from "../src/ToneSpeech/ToneEncoder.ts"
import { mulawFrame, renderFrame } from "../src/ToneSpeech/ToneFrames.ts"

const text = "The quick brown fox jumps over the lazy dog and books a table for two. "
const framesPerSecond = 50

/** Runs `work`, which returns the number of frames it has processed, for a second, and prints the cost of 50 frames. */
const measure = (name: string, work: () => number): void => {
  const until = (ms: number): number => {
    const end = performance.now() + ms
    let frames = 0
    while (performance.now() < end) frames += work()
    return frames
  }
  until(300)
  const before = process.cpuUsage()
  const frames = until(1000)
  const { system, user } = process.cpuUsage(before)
  const perSecond = ((user + system) / frames) * framesPerSecond
  process.stdout.write(`${name.padEnd(46)} ${perSecond.toFixed(1).padStart(8)} µs per second of audio\n`)
}

const pcm = new Int16Array(160)
const bytes = new Uint8Array(160)

const spoken = (): ReadonlyArray<Int16Array> => {
  const encoder = new ToneEncoder(text)
  return Array.from({ length: encoder.frames }, () => {
    const frame = new Int16Array(160)
    mulawToPcm(mulawFrame(encoder.next()), 0, 160, frame, 0)
    return frame
  })
}

measure("encode to PCM", () => {
  const encoder = new ToneEncoder(text)
  for (let key = encoder.next(); key >= 0; key = encoder.next()) renderFrame(key, 8000, pcm, 0)
  return encoder.frames
})
measure("encode to mu-law (cached frames)", () => {
  const encoder = new ToneEncoder(text)
  for (let key = encoder.next(); key >= 0; key = encoder.next()) mulawFrame(key)
  return encoder.frames
})

const speech = spoken()
let words = 0
const decoder = new ToneDecoder({ started: () => {}, progressed: () => words++, ended: () => {} })
measure("decode speech", () => {
  for (const frame of speech) decoder.push(frame)
  return speech.length
})
const quiet = new Int16Array(160)
measure("decode silence", () => {
  for (let n = 0; n < 100; n++) decoder.push(quiet)
  return 100
})
const noise = Int16Array.from({ length: 160 }, (_, n) => ((n * 7919) % 6007) - 3003)
measure("decode noise", () => {
  for (let n = 0; n < 100; n++) decoder.push(noise)
  return 100
})
measure("mu-law to PCM", () => {
  for (let n = 0; n < 100; n++) mulawToPcm(bytes, 0, 160, pcm, 0)
  return 100
})
measure("PCM to mu-law", () => {
  for (let n = 0; n < 100; n++) pcmToMulaw(pcm, 0, 160, bytes, 0)
  return 100
})

const message = writeMedia(bytes)
measure("read a media message", () => {
  for (let n = 0; n < 100; n++) readPhoneMessage(message)
  return 100
})
const unusual = `${message.slice(0, -1)},"sequence":1}`
measure("read a media message that needs JSON", () => {
  for (let n = 0; n < 100; n++) readPhoneMessage(unusual)
  return 100
})
measure("write a media message", () => {
  for (let n = 0; n < 100; n++) writeMedia(bytes)
  return 100
})

const paced = (name: string, faults: ConstructorParameters<typeof LineImpairments>[0]): void => {
  const time = new ManualTime()
  const clock = new MediaClock(time)
  let delivered = 0
  const callers = Array.from(
    { length: 500 },
    (_, seed) => new CallerAudio(clock, new LineImpairments(faults, seed), () => delivered++)
  )
  measure(name, () => {
    for (const caller of callers) caller.say(text)
    const before = delivered
    time.advance(1000)
    return Math.max(1, delivered - before)
  })
  clock.stopAll()
}
paced("pace 500 callers", {})
paced("pace 500 callers, noise, loss and jitter", { loss: 0.01, noise_db: 30, jitter_ms: 40 })
