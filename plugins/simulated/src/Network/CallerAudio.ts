import { alaw, type Law, mulaw } from "../Law.ts"
import type { LegRealism } from "../Realism/Realism.ts"
import { Seeded } from "../Realism/Seeded.ts"
import { ToneEncoder } from "../ToneSpeech/ToneEncoder.ts"
import { lawFrame } from "../ToneSpeech/ToneFrames.ts"
import { EchoPath } from "./EchoPath.ts"
import type { LineImpairments } from "./LineImpairments.ts"
import type { MediaClock, TickListener } from "./NetworkClock.ts"
import { type Packet, PacketOrder, PacketStream } from "./Packets.ts"

const frameLength = 160

/**
 * Frames of silence after speech: half a second, so that speech-to-text and voice activity detectors notice the end
 * despite lost frames. After them nothing is sent until the caller speaks again (silence suppression): a silent caller
 * costs nothing. With `dtx` these frames are not sent either.
 */
export const trailingFrames = 25

/** The maximum number of queued sounds. */
const maxQueuedSounds = 100

/** The maximum number of the phone's own frames that wait to be mixed with speech; the oldest are dropped. */
const maxOwnFrames = 10

/** The root mean square below which a frame is silence for `dtx`: 54 dB below full scale. */
const silentLevel = 65

/** The beep of a voicemail: 1 kHz for 500 ms. */
const beepFrames = 25
const beepHz = 1000
const beepPcm = Int16Array.from({ length: frameLength }, (_, n) =>
  Math.round(9000 * Math.sin((2 * Math.PI * beepHz * n) / 8000))
)

/** A frame that the network makes itself, in each law. */
const inBothLaws = (pcm: Int16Array): ReadonlyMap<Law, Uint8Array> =>
  new Map(
    [mulaw, alaw].map((law) => {
      const frame = new Uint8Array(frameLength)
      law.encode(pcm, 0, frameLength, frame, 0)
      return [law, frame]
    })
  )
const beeps = inBothLaws(beepPcm)
const silences = inBothLaws(new Int16Array(frameLength))

/** Audio that is produced frame by frame. */
interface Sound {
  /** The next 20 ms in the law of the leg; undefined at the end. */
  readonly next: () => Uint8Array | undefined
}

const speech = (text: string, law: Law): Sound => {
  const encoder = new ToneEncoder(text)
  return {
    next: () => {
      const key = encoder.next()
      return key < 0 ? undefined : lawFrame(law, key)
    }
  }
}

const beep = (law: Law): Sound => {
  let left = beepFrames
  return { next: () => (left-- > 0 ? beeps.get(law) : undefined) }
}

const leftPcm = new Int16Array(frameLength)
const rightPcm = new Int16Array(frameLength)
const mixed = new Uint8Array(frameLength)

/** Mixes a frame with PCM16. The result is valid until the next call. */
const mixPcm = (law: Law, frame: Uint8Array, other: Int16Array): Uint8Array => {
  law.decode(frame, 0, frameLength, leftPcm, 0)
  for (let n = 0; n < frameLength; n++) {
    leftPcm[n] = Math.max(-32_768, Math.min(32_767, (leftPcm[n] ?? 0) + (other[n] ?? 0)))
  }
  law.encode(leftPcm, 0, frameLength, mixed, 0)
  return mixed
}

const mix = (law: Law, left: Uint8Array, right: Uint8Array): Uint8Array => {
  law.decode(right, 0, frameLength, rightPcm, 0)
  return mixPcm(law, left, rightPcm)
}

const isSilent = (law: Law, frame: Uint8Array): boolean => {
  law.decode(frame, 0, frameLength, leftPcm, 0)
  let energy = 0
  for (const sample of leftPcm) energy += sample * sample
  return energy < frameLength * silentLevel * silentLevel
}

/** A leg whose audio a {@link CallerAudio} makes. */
export interface CallerLine {
  readonly law: Law
  readonly realism: () => LegRealism | undefined
  /** For the order of packets. */
  readonly random: Seeded
}

/**
 * The audio that one phone sends: text that the network speaks for it in real time, and the phone's own audio as it
 * arrives, mixed where they overlap, and the echo of the agent. The impairments of the line are applied to all of it. A
 * line on which packets are lost, late or out of order numbers them.
 */
export class CallerAudio implements TickListener {
  readonly #clock: MediaClock
  readonly #line: LineImpairments
  readonly #deliver: (audio: Uint8Array, packet?: Packet) => void
  readonly #law: Law
  readonly #realism: CallerLine["realism"]
  readonly #packets: PacketStream
  readonly #order: PacketOrder
  readonly #echo = new EchoPath()
  readonly #sounds: Array<Sound> = []
  #trailing = 0
  #tick = 0
  /** Own frames of the phone that wait to be mixed. */
  #own: Array<Uint8Array> = []
  readonly #rest = new Uint8Array(frameLength)
  #restLength = 0
  /** Delayed frames, in order. */
  #late: Array<{ readonly frame: Uint8Array; readonly tick: number; readonly packet: Packet | undefined }> = []
  #stopped = false

  /** `deliver` receives audio of the leg in whole frames, which is valid only during the call. */
  constructor(
    clock: MediaClock,
    line: LineImpairments,
    deliver: (audio: Uint8Array, packet?: Packet) => void,
    { law, random, realism }: CallerLine = { law: mulaw, realism: () => undefined, random: new Seeded(0) }
  ) {
    this.#clock = clock
    this.#line = line
    this.#deliver = deliver
    this.#law = law
    this.#realism = realism
    this.#packets = new PacketStream(clock.mediaTime)
    this.#order = new PacketOrder(random, deliver)
  }

  /** Queues a text to be spoken. False when the queue is full. */
  say(text: string): boolean {
    if (this.#sounds.length >= maxQueuedSounds) return false
    this.#add(speech(text, this.#law))
    return true
  }

  /** Queues a beep. */
  beep(): void {
    this.#add(beep(this.#law))
  }

  /** Takes a frame that the phone plays, which begins at `offset`: its microphone may hear it. */
  played(bytes: Uint8Array, offset = 0): void {
    const realism = this.#realism()
    if (this.#stopped || (realism?.echo_db === undefined && realism?.echo_delay_ms === undefined)) return
    this.#law.decode(bytes, offset, frameLength, rightPcm, 0)
    // Before the clock starts, which ticks at once.
    this.#echo.put(rightPcm, this.#tick, realism)
    this.#clock.start(this)
  }

  /** Takes the phone's own audio, of any length. An incomplete frame waits for more. */
  media(bytes: Uint8Array): void {
    const whole = this.#restLength === 0 && bytes.length % frameLength === 0
    if (whole && !this.#mixes && this.#late.length === 0 && this.#line.clean && this.#realism() === undefined) {
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
    this.#order.tick()
    const echo = this.#echo.take(this.#tick)
    const spoken = this.#spokenFrame()
    if (spoken !== undefined) {
      const own = this.#own.shift()
      this.#sendWith(own === undefined ? spoken : mix(this.#law, spoken, own), echo)
    } else if (this.#own.length > 0) {
      for (const [n, own] of this.#own.splice(0).entries()) this.#sendWith(own, n === 0 ? echo : undefined)
    } else if (echo !== undefined) this.#sendWith(this.#silence, echo)
    while (!this.#stopped && (this.#late[0]?.tick ?? Number.POSITIVE_INFINITY) <= this.#tick) {
      const arrived = this.#late.shift()
      if (arrived !== undefined) this.#arrive(arrived.frame, arrived.packet)
    }
    return !this.#stopped && (this.#mixes || this.#own.length > 0 || this.#late.length > 0 || this.#order.isWaiting)
  }

  /** Ends the audio: nothing is delivered afterwards. */
  stop(): void {
    this.#stopped = true
    this.#clock.stop(this)
    this.#sounds.length = 0
    this.#own = []
    this.#late = []
    this.#echo.clear()
    this.#order.clear()
  }

  /** Whether the phone's own audio is mixed with other audio, and so waits for the clock. */
  get #mixes(): boolean {
    return this.#trailing > 0 || this.#echo.isSounding
  }

  get #silence(): Uint8Array {
    return silences.get(this.#law) ?? new Uint8Array(frameLength).fill(this.#law.silence)
  }

  #add(sound: Sound): void {
    if (this.#stopped) return
    this.#sounds.push(sound)
    this.#trailing = trailingFrames
    this.#clock.start(this)
  }

  #ownFrame(frame: Uint8Array): void {
    if (!this.#mixes) {
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
    return this.#silence
  }

  #sendWith(frame: Uint8Array, echo: Int16Array | undefined): void {
    this.#send(echo === undefined ? frame : mixPcm(this.#law, frame, echo))
  }

  #send(frame: Uint8Array): void {
    const { dtx, reorder = 0 } = this.#realism() ?? {}
    if (this.#stopped || (dtx === true && isSilent(this.#law, frame))) return
    const packet = this.#line.hasPackets || reorder > 0 ? this.#packets.next() : undefined
    if (this.#line.drops()) return
    const delay = this.#line.delay()
    const waiting = this.#late.at(-1)
    if (delay === 0 && waiting === undefined) {
      this.#arrive(this.#line.addNoise(frame), packet)
      return
    }
    // Frames stay in order: none arrives before its predecessor.
    const tick = Math.max(this.#tick + delay, waiting?.tick ?? 0)
    this.#late.push({ frame: this.#line.addNoise(frame).slice(), tick, packet })
    this.#clock.start(this)
  }

  #arrive(frame: Uint8Array, packet: Packet | undefined): void {
    if (packet === undefined) {
      this.#deliver(frame)
      return
    }
    this.#order.put(frame, packet, this.#realism()?.reorder ?? 0)
    if (this.#order.isWaiting) this.#clock.start(this)
  }
}
