import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Resampler } from "@svc/audio/Resampler"
import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { renderFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { Effect, type Scope } from "effect"
import type { Page } from "playwright-core"

/** Hz of the sound that goes into a browser. */
export const microphoneRate = 48_000

/** Tone speech at the rate of the microphone. */
export const toneSpeech = (text: string, rate = microphoneRate): Int16Array => {
  const encoder = new ToneEncoder(text)
  const length = rate / 50
  const samples = new Int16Array(encoder.frames * length)
  for (let frame = 0; frame < encoder.frames; frame++) renderFrame(encoder.next(), rate, samples, frame * length)
  return samples
}

export const silence = (seconds: number, rate = microphoneRate): Int16Array =>
  new Int16Array(Math.round(seconds * rate))

/** A WAV file: PCM16 mono. */
const wav = (samples: Int16Array, rate: number): Buffer => {
  const head = Buffer.alloc(44)
  head.write("RIFF", 0)
  head.writeUInt32LE(36 + samples.length * 2, 4)
  head.write("WAVEfmt ", 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write("data", 36)
  head.writeUInt32LE(samples.length * 2, 40)
  return Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, samples.length * 2)])
}

/** A file with these sounds one after the other; removed with the scope. */
export const microphoneFile = (sounds: ReadonlyArray<Int16Array>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-microphone-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const samples = new Int16Array(sounds.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const sound of sounds) {
      samples.set(sound, at)
      at += sound.length
    }
    const file = join(folder, "microphone.wav")
    writeFileSync(file, wav(samples, microphoneRate))
    return file
  })

/** What a page heard and played, on one clock, at `rate` Hz; the microphone before the browser's own processing is not known. */
export interface PageSound {
  readonly rate: number
  readonly microphone: Float32Array
  readonly loudspeaker: Float32Array
}

/**
 * Runs in the page before its scripts: records what comes from the microphone and what goes to the loudspeaker, in the
 * same moments.
 */
const recorderScript = `(() => {
  const connect = AudioNode.prototype.connect
  const recordings = { microphone: [], loudspeaker: [] }
  window.recordings = recordings
  window.contexts = []
  const recorders = new WeakMap()
  const recorderOf = (context) => {
    if (recorders.has(context)) return recorders.get(context)
    const merger = context.createChannelMerger(2)
    const recorder = context.createScriptProcessor(1024, 2, 1)
    recorder.onaudioprocess = ({ inputBuffer }) => {
      recordings.rate = inputBuffer.sampleRate
      recordings.microphone.push(inputBuffer.getChannelData(0).slice())
      recordings.loudspeaker.push(inputBuffer.getChannelData(1).slice())
    }
    connect.call(merger, recorder)
    connect.call(recorder, context.destination)
    recorders.set(context, merger)
    contexts.push(context)
    return merger
  }
  AudioNode.prototype.connect = function (target, ...rest) {
    if (target === this.context.destination) connect.call(this, recorderOf(this.context), 0, 1)
    if (this instanceof MediaStreamAudioSourceNode) connect.call(this, recorderOf(this.context), 0, 0)
    return connect.call(this, target, ...rest)
  }
})()`

export const record = (page: Page): Effect.Effect<void> => Effect.promise(() => page.addInitScript(recorderScript))

/** Switches off the browser's own processing of speech, which the page asks for: it takes tones for noise. */
export const takeTones = (page: Page): Effect.Effect<void> =>
  Effect.promise(() =>
    page.addInitScript(`{
      const { mediaDevices } = navigator
      const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices)
      window.streams = []
      mediaDevices.getUserMedia = async ({ audio }) => {
        if (!audio.echoCancellation || !audio.noiseSuppression || !audio.autoGainControl) throw new Error("not asked for")
        const constraints = { ...audio, echoCancellation: false, noiseSuppression: false, autoGainControl: false }
        const stream = await getUserMedia({ audio: constraints })
        streams.push(stream)
        return stream
      }
    }`)
  )

/** Lets the browser fail with this DOMException when the page asks for the microphone. */
export const failWith = (page: Page, name: string): Effect.Effect<void> =>
  Effect.promise(() =>
    page.addInitScript(`navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "${name}"))`)
  )

/**
 * Waits until so many seconds are recorded. It asks the page for their number only: a page that hands over its recording
 * has no time for the call meanwhile.
 */
export const recordedFor = (page: Page, seconds: number): Effect.Effect<void> =>
  Effect.promise(() =>
    page.evaluate<void>(`new Promise((resolve) => {
      const look = () => {
        if (recordings.microphone.length * 1024 > ${seconds} * (recordings.rate ?? Infinity)) resolve()
        else setTimeout(look, 50)
      }
      look()
    })`)
  )

/** What was recorded since the call began. */
export const recorded = (page: Page): Effect.Effect<PageSound> =>
  Effect.promise(async () => {
    const { loudspeaker, microphone, rate } = await page.evaluate<{
      readonly rate: number
      readonly microphone: string
      readonly loudspeaker: string
    }>(`(() => {
      const joined = (parts) => {
        const bytes = new Uint8Array(parts.length * 4096)
        parts.forEach((part, n) => bytes.set(new Uint8Array(part.buffer), n * 4096))
        let text = ""
        for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768))
        return btoa(text)
      }
      return { rate: recordings.rate, microphone: joined(recordings.microphone), loudspeaker: joined(recordings.loudspeaker) }
    })()`)
    const floats = (base64: string) => {
      const bytes = Buffer.from(base64, "base64")
      return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
    }
    return { rate, microphone: floats(microphone), loudspeaker: floats(loudspeaker) }
  })

/** The same sound at 16 kHz, as PCM16. */
const at16kHz = (sound: Float32Array, rate: number): Int16Array => {
  const pcm = Int16Array.from(sound, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))))
  const resampler = new Resampler(rate, 16_000)
  return Int16Array.from([...resampler.push(pcm), ...resampler.end()])
}

/** The messages of audio that a page sends from now on, PCM16 at 16 kHz. */
export const sentBy = (page: Page): ReadonlyArray<Int16Array> => {
  const sent: Array<Int16Array> = []
  page.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      if (typeof payload === "string") return
      sent.push(new Int16Array(payload.buffer.slice(payload.byteOffset, payload.byteOffset + payload.length)))
    })
  )
  return sent
}

/** The utterances of tone speech in a sound. */
export const heard = (sound: Float32Array, rate: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const decoder = new ToneDecoder({ started: () => {}, progressed: () => {}, ended: (text) => found.push(text) })
  const samples = at16kHz(sound, rate)
  for (let at = 0; at + 320 <= samples.length; at += 320) decoder.push(samples, at, 2)
  return found
}

/** The stretches of sound louder than `level` (0 to 1), in seconds; pauses up to `pause` seconds belong to one. */
export const stretches = (
  sound: Float32Array,
  rate: number,
  { level = 0.01, pause = 0.1 } = {}
): ReadonlyArray<{ readonly from: number; readonly to: number }> => {
  const found: Array<{ from: number; to: number }> = []
  sound.forEach((sample, n) => {
    if (Math.abs(sample) < level) return
    const at = n / rate
    const last = found.at(-1)
    if (last !== undefined && at - last.to <= pause) last.to = at
    else found.push({ from: at, to: at })
  })
  return found
}
