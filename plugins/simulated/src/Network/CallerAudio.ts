import { mulawSilence, mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { ToneEncoder } from "../ToneSpeech/ToneEncoder.ts"
import { mulawFrame } from "../ToneSpeech/ToneFrames.ts"
import type { LineNoise } from "./LineNoise.ts"
import type { MediaClock, Ticking } from "./NetworkClock.ts"

const frameLength = 160
const silence = new Uint8Array(frameLength).fill(mulawSilence)

/**
 * Frames of silence after speech: half a second, so that ears and voice detectors notice the end on a lossy line too. After
 * them nothing is sent until the caller speaks again (silence suppression): a silent caller costs nothing.
 */
export const trailingFrames = 25

/** Utterances that may wait. */
const longestQueue = 100

/** Frames of a phone's own audio that wait to be mixed with the voice; more are dropped, oldest first. */
const longestMix = 10

/** A voicemail's beep: 1 kHz for 500 ms. */
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

/** Something that is heard frame by frame. */
interface Sound {
  /** The next 20 ms of mu-law, or undefined: it is over. */
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
 * What one caller sends: the utterances that the network speaks for them, at the pace of life, and the audio of their own
 * phone, as it comes; both mixed where they meet. It passes the line's faults on its way.
 */
export class CallerAudio implements Ticking {
  readonly #clock: MediaClock
  readonly #line: LineNoise
  readonly #deliver: (audio: Uint8Array) => void
  readonly #sounds: Array<Sound> = []
  #trailing = 0
  #tick = 0
  /** Frames of the phone that wait to be mixed. */
  #own: Array<Uint8Array> = []
  readonly #rest = new Uint8Array(frameLength)
  #restLength = 0
  /** Frames that are late, in order. */
  #late: Array<{ readonly frame: Uint8Array; readonly tick: number }> = []
  #stopped = false

  /** `deliver` gets mu-law audio of whole frames, only valid during the call. */
  constructor(clock: MediaClock, line: LineNoise, deliver: (audio: Uint8Array) => void) {
    this.#clock = clock
    this.#line = line
    this.#deliver = deliver
  }

  /** Speaks the text after what is still being said. False when too much waits already. */
  say(text: string): boolean {
    if (this.#sounds.length >= longestQueue) return false
    this.#add(speech(text))
    return true
  }

  /** Beeps after what is still being said. */
  beep(): void {
    this.#add(beep())
  }

  /** Takes audio of the phone itself, of any length; what does not fill a frame waits for more. */
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

  /** The call is over: nothing is delivered any more. */
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
    if (this.#own.length === longestMix) this.#own.shift()
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
    if (this.#stopped || this.#line.loses()) return
    const delay = this.#line.delay()
    const waiting = this.#late.at(-1)
    if (delay === 0 && waiting === undefined) {
      this.#deliver(this.#line.disturb(frame))
      return
    }
    // Nothing overtakes: a frame comes no earlier than the one before it.
    const tick = Math.max(this.#tick + delay, waiting?.tick ?? 0)
    this.#late.push({ frame: this.#line.disturb(frame).slice(), tick })
    this.#clock.start(this)
  }
}
