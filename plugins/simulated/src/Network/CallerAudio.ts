import { mulawSilence, mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { ToneEncoder } from "../ToneSpeech/ToneEncoder.ts"
import { mulawFrame } from "../ToneSpeech/ToneFrames.ts"
import type { LineImpairments } from "./LineImpairments.ts"
import type { MediaClock, TickListener } from "./NetworkClock.ts"

const frameLength = 160
const silence = new Uint8Array(frameLength).fill(mulawSilence)

/**
 * Frames of silence after speech: half a second, so that speech-to-text and voice activity detectors notice the end
 * despite lost frames. After them nothing is sent until the caller speaks again (silence suppression): a silent caller
 * costs nothing.
 */
export const trailingFrames = 25

/** The maximum number of queued sounds. */
const maxQueuedSounds = 100

/** The maximum number of the phone's own frames that wait to be mixed with speech; the oldest are dropped. */
const maxOwnFrames = 10

/** The beep of a voicemail: 1 kHz for 500 ms. */
const beepFrames = 25
const beepHz = 1000
const beepFrame = new Uint8Array(frameLength)
pcmToMulaw(
  Int16Array.from({ length: frameLength }, (_, n) => Math.round(9000 * Math.sin((2 * Math.PI * beepHz * n) / 8000))),
  0,
  frameLength,
  beepFrame,
  0
)

/** Audio that is produced frame by frame. */
interface Sound {
  /** The next 20 ms of mu-law; undefined at the end. */
  readonly next: () => Uint8Array | undefined
}

const speech = (text: string): Sound => {
  const encoder = new ToneEncoder(text)
  return {
    next: () => {
      const key = encoder.next()
      return key < 0 ? undefined : mulawFrame(key)
    }
  }
}

const beep = (): Sound => {
  let left = beepFrames
  return { next: () => (left-- > 0 ? beepFrame : undefined) }
}

const leftPcm = new Int16Array(frameLength)
const rightPcm = new Int16Array(frameLength)
const mixed = new Uint8Array(frameLength)

const mix = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  mulawToPcm(left, 0, frameLength, leftPcm, 0)
  mulawToPcm(right, 0, frameLength, rightPcm, 0)
  for (let n = 0; n < frameLength; n++) {
    leftPcm[n] = Math.max(-32_768, Math.min(32_767, (leftPcm[n] ?? 0) + (rightPcm[n] ?? 0)))
  }
  pcmToMulaw(leftPcm, 0, frameLength, mixed, 0)
  return mixed
}

/**
 * The audio that one phone sends: text that the network speaks for it in real time, and the phone's own audio as it
 * arrives, mixed where they overlap. The impairments of the line are applied to both.
 */
export class CallerAudio implements TickListener {
  readonly #clock: MediaClock
  readonly #line: LineImpairments
  readonly #deliver: (audio: Uint8Array) => void
  readonly #sounds: Array<Sound> = []
  #trailing = 0
  #tick = 0
  /** Own frames of the phone that wait to be mixed. */
  #own: Array<Uint8Array> = []
  readonly #rest = new Uint8Array(frameLength)
  #restLength = 0
  /** Delayed frames, in order. */
  #late: Array<{ readonly frame: Uint8Array; readonly tick: number }> = []
  #stopped = false

  /** `deliver` receives mu-law audio in whole frames, which is valid only during the call. */
  constructor(clock: MediaClock, line: LineImpairments, deliver: (audio: Uint8Array) => void) {
    this.#clock = clock
    this.#line = line
    this.#deliver = deliver
  }

  /** Queues a text to be spoken. False when the queue is full. */
  say(text: string): boolean {
    if (this.#sounds.length >= maxQueuedSounds) return false
    this.#add(speech(text))
    return true
  }

  /** Queues a beep. */
  beep(): void {
    this.#add(beep())
  }

  /** Takes the phone's own audio, of any length. An incomplete frame waits for more. */
  media(bytes: Uint8Array): void {
    const whole = this.#restLength === 0 && bytes.length % frameLength === 0
    if (whole && this.#trailing === 0 && this.#late.length === 0 && this.#line.clean) {
      this.#deliver(bytes)
      return
    }
    for (let taken = 0; taken < bytes.length; ) {
      const part = bytes.subarray(taken, taken + frameLength - this.#restLength)
      this.#rest.set(part, this.#restLength)
      this.#restLength += part.length
      taken += part.length
      if (this.#restLength === frameLength) {
        this.#restLength = 0
        this.#ownFrame(this.#rest)
      }
    }
  }

  tick(): boolean {
    this.#tick++
    const spoken = this.#spokenFrame()
    if (spoken !== undefined) {
      const own = this.#own.shift()
      this.#send(own === undefined ? spoken : mix(spoken, own))
    } else {
      for (const own of this.#own.splice(0)) this.#send(own)
    }
    while (!this.#stopped && (this.#late[0]?.tick ?? Number.POSITIVE_INFINITY) <= this.#tick) {
      const arrived = this.#late.shift()
      if (arrived !== undefined) this.#deliver(arrived.frame)
    }
    return !this.#stopped && (this.#trailing > 0 || this.#own.length > 0 || this.#late.length > 0)
  }

  /** Ends the audio: nothing is delivered afterwards. */
  stop(): void {
    this.#stopped = true
    this.#clock.stop(this)
    this.#sounds.length = 0
    this.#own = []
    this.#late = []
  }

  #add(sound: Sound): void {
    if (this.#stopped) return
    this.#sounds.push(sound)
    this.#trailing = trailingFrames
    this.#clock.start(this)
  }

  #ownFrame(frame: Uint8Array): void {
    if (this.#trailing === 0) {
      this.#send(frame)
      return
    }
    if (this.#own.length === maxOwnFrames) this.#own.shift()
    this.#own.push(frame.slice())
  }

  #spokenFrame(): Uint8Array | undefined {
    for (let sound = this.#sounds[0]; sound !== undefined; sound = this.#sounds[0]) {
      const frame = sound.next()
      if (frame !== undefined) return frame
      this.#sounds.shift()
    }
    if (this.#trailing === 0) return undefined
    this.#trailing--
    return silence
  }

  #send(frame: Uint8Array): void {
    if (this.#stopped || this.#line.drops()) return
    const delay = this.#line.delay()
    const waiting = this.#late.at(-1)
    if (delay === 0 && waiting === undefined) {
      this.#deliver(this.#line.addNoise(frame))
      return
    }
    // Frames stay in order: none arrives before its predecessor.
    const tick = Math.max(this.#tick + delay, waiting?.tick ?? 0)
    this.#late.push({ frame: this.#line.addNoise(frame).slice(), tick })
    this.#clock.start(this)
  }
}
