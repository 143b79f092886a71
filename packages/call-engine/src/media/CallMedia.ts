import { type Codec, codecOf, fadeIn } from "@svc/audio/Codec"
import { type Cut, Playout } from "@svc/audio/Playout"
import { SentFrames } from "@svc/audio/SentFrames"
import { type AudioFormat, frameBytes, frameMs, frameSamples } from "@svc/providers/Audio"
import type { LineQuality } from "@svc/providers/Telephony"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { EchoGuard } from "./EchoGuard.ts"
import { type FrameSource, type FrameWheel, slotMs } from "./FrameWheel.ts"
import { type MarkedLeg, PlaybackMarks, unmarkedLeg } from "./PlaybackMarks.ts"
import { ReceivePath } from "./ReceivePath.ts"
import { SentAhead } from "./SentAhead.ts"

/** Frames after an end of turn in which speech reported by the detector belongs to the finished turn: 300 ms. */
const hangoverFrames = 15

/** Called synchronously from the media path. */
export interface MediaListener {
  /** One 20 ms frame of the caller, valid only during the call, and its power as a mean square. */
  readonly onFrame: (frame: Int16Array, power: number) => void
  /** What speech-to-text gets of it, without the agent's echo: no frame, one, or several. See {@link EchoGuard}. */
  readonly onCleanFrame: (frame: Int16Array) => void
  /** The caller started or stopped speaking `late` milliseconds ago. */
  readonly onVoiceActivity: (on: boolean, late: number) => void
  /** The first frame of an utterance was sent. */
  readonly onStarted: (id: string) => void
  /** The other side has played an utterance, as far as {@link PlaybackMarks} knows; it ended `late` milliseconds ago. */
  readonly onPlayed: (id: string, late: number) => void
}

/** Gets a copy of all audio in frames, in the leg's format; the arrays are valid only during the call. */
export interface MediaTap {
  /**
   * A frame of the caller. `at`: when its first sample arrived, or would have, with the least delay, in ms of the ticker's
   * clock. `isSilence`: nothing was heard, because the line has stopped.
   */
  readonly received: (bytes: Uint8Array, at: number, isSilence: boolean) => void
  /** A frame that the other side is to play from `at` on, on the same clock. */
  readonly sent: (frame: Uint8Array, at: number) => void
}

/** The audio of one call in both directions, without Effect or queues. */
export class CallMedia implements FrameSource {
  private readonly codec: Codec
  private readonly playout: Playout
  private readonly marks: PlaybackMarks
  private readonly frameBytes: number
  private readonly ahead: SentAhead
  private readonly received: ReceivePath
  private readonly echo: EchoGuard
  private readonly sent: SentFrames
  private readonly sentPcm: Int16Array
  private isSpeaking = false
  /** Frames left in which the detector's speech belongs to the finished turn. */
  private hangover = 0
  /** The turn ended before the detector found its speech: it may still find it. */
  private unfound = false
  /** How much later than it came the frame is heard that is judged now, in ms. */
  private late = 0
  /** Frames heard since the last end of turn. */
  private turnFrames = Number.POSITIVE_INFINITY
  private stopped = false
  /** The network carries no audio for now. */
  private suspended = false
  /** Speech was stopped, and its audio is kept. */
  private held = false
  private fadesIn = false
  /** Slots of the wheel that were skipped until the frames ahead were looked at last. */
  private skipped = 0
  /** PCM that did not fit into the playout buffer, because the provider does not wait. */
  private overflow: Array<Int16Array> = []
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly send: (frame: Uint8Array) => void
  private readonly detector: VoiceActivityDetector
  private readonly listener: MediaListener
  private tap: MediaTap | undefined

  constructor(options: {
    readonly format: AudioFormat
    readonly wheel: FrameWheel
    readonly now: () => number
    readonly send: (frame: Uint8Array) => void
    /** What the leg says about playing; absent: audio is played when it is sent. */
    readonly leg?: MarkedLeg
    /** How much audio the leg takes ahead of time, in milliseconds: `send` gets several frames at once. Absent: 0. */
    readonly aheadMs?: number | undefined
    readonly detector: VoiceActivityDetector
    readonly listener: MediaListener
  }) {
    this.codec = codecOf(options.format)
    this.frameBytes = frameBytes(options.format)
    this.ahead = new SentAhead(this.frameBytes, options.aheadMs ?? 0)
    this.sentPcm = new Int16Array(frameSamples(options.format))
    this.sent = new SentFrames(this.sentPcm.length)
    this.wheel = options.wheel
    this.now = options.now
    this.send = options.send
    this.detector = options.detector
    this.listener = options.listener
    this.received = new ReceivePath({
      format: options.format,
      codec: this.codec,
      wheel: options.wheel,
      now: options.now,
      onFrame: (frame, at, late) => this.hear(frame, at, late)
    })
    this.playout = new Playout({
      bytesPerSecond: options.format.sampleRate * this.codec.bytesPerSample,
      silence: this.codec.silence,
      listener: {
        onStarted: options.listener.onStarted,
        onPlayed: (id, end) => options.listener.onPlayed(id, this.marks.since(end))
      }
    })
    const { leg = unmarkedLeg, now, wheel } = options
    this.echo = new EchoGuard({
      sampleRate: options.format.sampleRate,
      delayMs: leg.delayMs,
      pass: options.listener.onCleanFrame
    })
    this.marks = new PlaybackMarks({ leg, now, playout: this.playout, wheel })
  }

  /** From now on, all audio is copied to `tap`. */
  record(tap: MediaTap): void {
    this.tap = tap
    this.received.record(tap.received)
  }

  /** Takes audio of the caller, any number of bytes; with both numbers it is a packet. See `CallEvent`. */
  receive(bytes: Uint8Array, sequence?: number, timestamp?: number): void {
    const frames = Math.floor(bytes.length / this.frameBytes)
    if (frames > 1 && sequence === undefined) {
      this.received.takeWaiting()
      this.sent.arrive(frames, this.now())
    }
    this.received.receive(bytes, sequence, timestamp)
  }

  /** What the packets of the leg were like; undefined: it has delivered none. */
  get quality(): LineQuality | undefined {
    return this.received.quality
  }

  private hear(frame: Int16Array, at: number, late: number): void {
    this.late = late
    this.detector.sent?.(this.sent.take(this.now()))
    const found = this.detector.push(frame) === "speech"
    const whose = this.echo.judge(frame, found, at)
    this.setSpeaking(this.belongsToTurn(whose === "caller" || (whose === "unknown" && this.isSpeaking)))
    this.echo.passOn(frame)
    this.listener.onFrame(frame, this.echo.power)
    this.late = 0
  }

  /**
   * Speech-to-text reported the end of a turn: the caller counts as silent from now on, also while the detector still
   * waits for the end of the speech.
   */
  endOfTurn(): void {
    this.hangover = hangoverFrames
    this.unfound = !this.isSpeaking
    this.setSpeaking(false)
    this.turnFrames = 0
  }

  /**
   * Stops to send frames, or goes on where it stopped: the network carries no audio for now. The caller counts as silent
   * meanwhile.
   */
  suspend(on: boolean): void {
    if (this.stopped || on === this.suspended) return
    this.suspended = on
    if (on) {
      this.leaveWheel()
      this.hangover = hangoverFrames
      this.unfound = false
      this.setSpeaking(false)
      return
    }
    this.marks.resumed()
    if (this.playout.pending) this.join()
  }

  private join(): void {
    if (!this.suspended && !this.held) this.wheel.join(this, this.now())
  }

  /** Whether what the detector found counts as the caller's speech now. */
  private belongsToTurn(speech: boolean): boolean {
    this.turnFrames++
    if (!speech && !this.unfound) this.hangover = 0
    else if (this.hangover > 0) {
      this.hangover--
      return false
    }
    return speech
  }

  private setSpeaking(on: boolean): void {
    if (on === this.isSpeaking) return
    this.isSpeaking = on
    // A stopped call has closed its detector.
    const lasted = this.stopped ? 0 : (this.detector.lasted?.(on ? "speech" : "silence") ?? 0)
    const late = lasted + this.late
    // What was said before the end of turn belongs to that turn.
    this.listener.onVoiceActivity(on, on ? Math.min(late, this.turnFrames * frameMs) : late)
  }

  /**
   * Begins a turn with its first utterance: what is said and written from now on belongs to it. `isOpen`: more text may
   * follow until `endText`.
   */
  begin(id: string, text: string, isOpen = false): void {
    this.playout.begin(isOpen)
    this.playout.say(id, "", text)
  }

  /** Adds an utterance to the turn. Its text is spoken after `space`. */
  say(id: string, space: string, text: string): void {
    this.playout.say(id, space, text)
  }

  /** No text follows in the turn. */
  endText(): void {
    this.playout.endText()
  }

  /** The first `characters` of the turn are spoken in its first `atSample` samples. */
  align(characters: number, atSample: number): void {
    this.playout.align(characters, atSample * this.codec.bytesPerSample)
  }

  /** Ends the turn. Returns the utterances of which there is no audio, or, unless it is complete, not all. */
  end(isComplete = true): ReadonlyArray<string> {
    this.refillPlayout()
    const unspoken = this.playout.end(isComplete)
    if (this.stopped || this.held) return unspoken
    if (this.playout.pending) this.join()
    // Synthesis was so slow that its last frame has been sent already.
    else this.marks.utteranceEnded()
    return unspoken
  }

  /** Takes samples of the current turn. False: wait for `onDrained` before writing more. */
  write(pcm: Int16Array): boolean {
    if (this.stopped) return true
    if (this.overflow.length > 0) this.overflow.push(pcm.slice())
    else this.put(pcm)
    this.join()
    return this.overflow.length === 0 && !this.playout.full
  }

  private put(pcm: Int16Array): void {
    const size = this.codec.bytesPerSample
    const count = Math.min(pcm.length, Math.floor(this.playout.room / size))
    this.playout.write(count * size, (target, offset, bytes, done) =>
      this.codec.encode(pcm, done / size, bytes / size, target, offset)
    )
    if (count < pcm.length) this.overflow.unshift(pcm.slice(count))
  }

  private refillPlayout(): void {
    while (this.overflow.length > 0 && this.playout.room >= this.frameBytes) {
      const next = this.overflow.shift()
      if (next !== undefined) this.put(next)
    }
  }

  /** Whether audio is waiting to be sent, or is held. */
  get busy(): boolean {
    return this.playout.busy
  }

  /** Whether there is speech that can go on after a `hold`. */
  get canHold(): boolean {
    return this.playout.canHold
  }

  get overflowing(): boolean {
    return this.overflow.length > 0
  }

  onDrained(callback: () => void): () => void {
    return this.playout.onDrained(callback)
  }

  /** Sends what is due, one frame or several, and takes note of the frame whose time has come; called by the wheel. */
  tick(): boolean {
    if (this.stopped) return false
    this.passSkipped()
    // The first frame alone, so that the leg is asked for a mark after it.
    const isSent = this.ahead.count === 0 && this.ahead.begin() && this.sendMessage(1)
    // Not after a stop that the first message led to: then nothing is ahead.
    if (this.ahead.count > 0 && this.ahead.begin()) this.sendMessage(Number.POSITIVE_INFINITY)
    if (this.passFrame(0)) return true
    // What was sent has led to a stop, after which there may be other speech.
    return isSent && this.playout.pending && !this.stopped && !this.suspended && !this.held
  }

  /** After a stall the wheel skips slots, in which the leg has played what it had. */
  private passSkipped(): void {
    const { ahead, wheel } = this
    if (ahead.count === 0) this.skipped = wheel.skipped
    const frames = Math.floor(((wheel.skipped - this.skipped) * slotMs) / frameMs)
    this.skipped += (frames * frameMs) / slotMs
    for (let left = frames; left > 0 && ahead.count > 0; left--) this.passFrame(left)
  }

  /** Takes note of the frame whose time has come, so many frames ago. False: there is none. */
  private passFrame(framesAgo: number): boolean {
    const frame = this.ahead.next()
    if (frame === undefined) return false
    this.codec.decode(frame, 0, this.sentPcm.length, this.sentPcm, 0)
    const now = this.now()
    const ago = framesAgo * frameMs
    this.sent.put(this.sentPcm, now - ago)
    // The peer does not hear that this process is late.
    this.echo.sent(this.sentPcm, Math.min(now, this.wheel.nextSent) - ago)
    this.tap?.sent(frame, now - ago)
    return true
  }

  /** Sends a message of at most so many frames, which ends with its turn. False: there is nothing to send. */
  private sendMessage(most: number): boolean {
    const { ahead, playout } = this
    const before = ahead.count
    const position = playout.position
    let frames = 0
    for (let room = ahead.room; room !== undefined && frames < most && playout.read(room); room = ahead.room) {
      if (this.fadesIn) fadeIn(this.codec, room, this.sentPcm)
      this.fadesIn = false
      ahead.add()
      frames++
      if (this.overflow.length > 0) this.refillPlayout()
      if (playout.sentEndSince(position)) break
    }
    const message = ahead.take()
    if (message === undefined) return false
    // It may end the call, or stop the media.
    this.send(message)
    this.marks.sent(frames, this.now() + before * frameMs)
    return true
  }

  /** The leg reported the outcome of a mark. */
  confirm(name: string, outcome: "played" | "cleared"): void {
    this.marks.confirm(name, outcome)
  }

  /** Stops the agent's speech at once: no frame is sent after this. */
  clear(): ReadonlyArray<Cut> {
    this.overflow = []
    this.held = false
    const cuts = this.playout.clear(this.marks.cut())
    this.leaveWheel()
    return cuts
  }

  /** The same, but keeps the audio until `resume` or `clear`. */
  hold(): ReadonlyArray<Cut> {
    this.held = true
    this.leaveWheel()
    return this.playout.hold(this.marks.cut())
  }

  private leaveWheel(): void {
    this.wheel.leave(this)
    this.ahead.clear()
  }

  /** Goes on with the audio that was held, from the beginning of the word that was cut. */
  resume(): void {
    if (!this.held) return
    this.held = false
    this.fadesIn = true
    this.playout.resume()
    if (this.playout.pending) this.join()
    else this.marks.utteranceEnded()
  }

  /** Ends all audio and closes the detector. */
  stop(): void {
    if (this.stopped) return
    this.stopped = true
    this.overflow = []
    this.marks.stop()
    this.leaveWheel()
    this.received.stop()
    this.detector.close?.()
  }
}
