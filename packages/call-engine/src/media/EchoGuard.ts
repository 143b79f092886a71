import { EchoCanceller, weakestEcho } from "@svc/audio/EchoCanceller"
import { frameMs } from "@svc/providers/Audio"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"

/** How long after the agent's last frame its echo may come, in ms, beside the network's own delay. */
const tailMs = 700
/** A frame that is sent so long after the one before, in ms, begins new speech of the agent. */
const pauseMs = 100
/** Frames before the caller's speech that speech-to-text gets at most: 300 ms. */
const preRollFrames = 15
/** Frames of speech after which a caller who spoke when the agent began goes on, unless it is an echo: 300 ms. */
const goesOnFrames = 15
/** The same once the path of the echo is known, in frames that are no echo: 100 ms. */
const noEchoFrames = 5
/** Speech is the caller's if two of the last ten frames have sound that is no echo. */
const foreignWindow = 0b11_1111_1111
/** Frames that wait until that is known: 1 s. */
const waitingFrames = 50
/** A line on which nothing comes back of so many frames has no echo: after 660 ms in all, longer than an echo takes. */
const unansweredFrames = 5
const unansweredMs = 560
/** Sound is compared with the agent's after so many frames, or when it ends, which silence of so many frames says. */
const comparedFrames = 15
const endFrames = 3
/** Frames that are weaker than the loudest one by more than this make no echo that is heard, as a ratio of energies: 20 dB. */
const loudPart = 0.01
/** No sound of the caller is weaker than the agent by more than this, as a ratio of energies: 34 dB. */
const weakest = 10 ** -3.4

/**
 * Keeps the agent's own voice from speech-to-text. From the agent's first frame until its echo has ended, a frame in
 * which voice activity does not find the caller is silence. When it finds the caller, what came before follows: all that
 * is speech, and up to 300 ms in which no echo can be heard; and what is known of the echo is taken out. At all other
 * times every frame passes as it is, so that a detector that misses a weak caller costs no words. So it does while the
 * line has no echo, and, without the echo, where nothing remains of it.
 *
 * | state   | the detector says                             | then                                                   |
 * |---------|-----------------------------------------------|--------------------------------------------------------|
 * | open    | anything, while no echo is possible           | frames pass                                            |
 * | open    | speech, while the agent begins to speak       | waiting: it may be the end of it, and an echo follows  |
 * | open    | silence, while an echo is possible            | closed                                                 |
 * | closed  | speech                                        | open, with what came before; if it is an echo: waiting |
 * | closed  | silence, when no echo is possible any more    | open                                                   |
 * | waiting | speech in {@link goesOnFrames} more frames    | open, with all that waited; if it is an echo: waiting  |
 * | waiting | silence                                       | closed; what waited passes, unless it is an echo       |
 */
export class EchoGuard {
  readonly #detector: VoiceActivityDetector
  readonly #pass: (frame: Int16Array) => void
  readonly #canceller: EchoCanceller
  readonly #silence: Int16Array
  readonly #tail: number
  #state: "open" | "closed" | "waiting" = "open"
  #isEchoPossible = false
  /** The frames that did not pass, without the echo, in a ring, and the energy of each. */
  readonly #held: ReadonlyArray<Int16Array>
  readonly #energies = new Float64Array(waitingFrames)
  #next = 0
  #count = 0
  /** Frames with speech while it is not known whether it is the caller's. */
  #speech = 0
  /** Those of them that are no echo, after the last one that was; -1: none was. */
  #noEcho = -1
  /** In which of the last frames there was sound that is no echo, as bits. */
  #foreign = 0
  /** Frames that pass next: silent ones, and how many of those that were held. */
  #silent = 0
  #before = 0
  /** When a frame was sent last, and the energy of the loudest one since the agent began to speak. */
  #sentAt = Number.NEGATIVE_INFINITY
  #loudest = 0
  /** Loud frames that were sent since something was heard, and when there were enough of them. */
  #loudFrames = 0
  #loudSince = 0
  /** The sound that is heard on a line of which nothing is known: frames, and silent ones after it. */
  #run = 0
  #quiet = 0

  /** `pass` gets the frames, which are valid only during the call. `delayMs`: how long audio waits in the network. */
  constructor(options: {
    readonly detector: VoiceActivityDetector
    readonly sampleRate: number
    readonly delayMs: number
    readonly pass: (frame: Int16Array) => void
  }) {
    const frameSamples = (options.sampleRate * frameMs) / 1000
    this.#detector = options.detector
    this.#pass = options.pass
    this.#canceller = new EchoCanceller(options.sampleRate)
    this.#silence = new Int16Array(frameSamples)
    this.#held = Array.from({ length: waitingFrames }, () => new Int16Array(frameSamples))
    this.#tail = tailMs + options.delayMs
  }

  /** Takes a frame that is sent to the caller. */
  sent(frame: Int16Array, now: number): void {
    const since = now - this.#sentAt
    if (since > this.#tail) this.#loudest = 0
    if (since > pauseMs && this.#state === "open" && this.#canceller.isPresent && !this.#canceller.isGood) this.#wait()
    const energy = energyOf(frame)
    this.#loudest = Math.max(this.#loudest, energy)
    this.#sentAt = now
    this.#answered(now)
    if (energy > this.#loudest * loudPart && ++this.#loudFrames === unansweredFrames) this.#loudSince = now
  }

  /** Takes what was sent in 20 ms in which the line, which sends nothing in silence, was silent. */
  missed(sent: Int16Array | undefined): void {
    this.#canceller.push(this.#silence, sent, false)
  }

  /** Finds out whether anything came back of what was sent. Where the line sends nothing in silence, no frame says so. */
  #answered(now: number): void {
    if (this.#loudFrames >= unansweredFrames && now - this.#loudSince > unansweredMs) this.#canceller.unanswered()
  }

  /**
   * The agent speaks on a line of which nothing is known: sound waits until it is known whether it is an echo. Returns
   * whether there is one.
   */
  #isEchoOfNewLine(now: number): boolean {
    const { energy } = this.#canceller
    this.#answered(now)
    if (energy > this.#loudest * weakestEcho) {
      this.#loudFrames = 0
      this.#quiet = 0
      if (this.#run === 0) this.#wait()
      if (++this.#run % comparedFrames !== 0) return false
    } else {
      if (this.#run === 0 || ++this.#quiet < endFrames) return false
      const isOpen = this.#state === "open"
      this.#run = 0
      if (isOpen) return false
    }
    const frames = Math.max(comparedFrames, this.#count + 1)
    if (this.#canceller.finds(frames * frameMs)) {
      this.#dismiss()
      return true
    }
    this.#open(this.#count)
    return false
  }

  /**
   * Takes a frame of the caller, what was `sent` in the same time, and what the detector says about it. Returns whose
   * speech it is. `passOn` with the same frame comes next.
   */
  judge(
    frame: Int16Array,
    sent: Int16Array | undefined,
    isSpeech: boolean,
    now: number
  ): "caller" | "unknown" | "none" {
    const isAgentHeard = now - this.#sentAt <= this.#tail
    this.#canceller.push(frame, sent, isAgentHeard)
    const { isPresent } = this.#canceller
    if (!isPresent) {
      const isNew = isAgentHeard && !this.#canceller.isAbsent
      if (isNew && !this.#isEchoOfNewLine(now)) return isSpeech ? "caller" : "none"
      if (!isNew && this.#state !== "open") this.#open(this.#count)
      if (!isNew) this.#run = 0
    }
    if (isAgentHeard && (!isSpeech || this.#noEcho === 0)) this.#canceller.learn(frame, this.#loudest)
    this.#isEchoPossible = isAgentHeard && this.#canceller.isPresent
    if (this.#isEchoPossible && this.#canceller.isGood) return this.#judgeClean(isSpeech)
    if (this.#state === "open" && this.#isEchoPossible && !isSpeech) this.#dismiss()
    else if (this.#state === "closed") this.#judgeClosed(isSpeech)
    else if (this.#state === "waiting") this.#judgeWaiting(isSpeech)
    if (!isSpeech || this.#state === "closed" || this.#noEcho >= 0) return "none"
    return this.#state === "open" ? "caller" : "unknown"
  }

  /** The same where nothing remains of the echo: every frame passes without it. */
  #judgeClean(isSpeech: boolean): "caller" | "none" {
    this.#foreign = ((this.#foreign << 1) | (this.#canceller.isForeign ? 1 : 0)) & foreignWindow
    if (this.#state === "waiting") this.#before = this.#count
    this.#state = "open"
    this.#noEcho = -1
    this.#count = 0
    return isSpeech && this.#foreign !== 0 && (this.#foreign & (this.#foreign - 1)) !== 0 ? "caller" : "none"
  }

  /** Passes on what speech-to-text gets now. */
  passOn(frame: Int16Array): void {
    for (; this.#silent > 0; this.#silent--) this.#pass(this.#silence)
    for (; this.#before > 0; this.#before--) {
      const held = this.#held[(this.#next - this.#before + waitingFrames) % waitingFrames]
      if (held !== undefined) this.#pass(held)
    }
    if (this.#state === "open") this.#pass(this.#isEchoPossible ? this.#clean : frame)
    else {
      if (this.#state === "closed") this.#pass(this.#silence)
      this.#hold()
    }
  }

  #judgeClosed(isSpeech: boolean): void {
    if (!isSpeech) {
      if (!this.#isEchoPossible) this.#open(this.#canceller.isForeign ? this.#count : 0)
    } else if (this.#canceller.resembles(this.#lasted("speech"))) {
      this.#wait()
      this.#count = 0
      this.#noEcho = 0
    } else this.#open(this.#preRoll())
  }

  #judgeWaiting(isSpeech: boolean): void {
    const isHeardNow = this.#lasted("silence") === 0
    if (!isSpeech) this.#end()
    else if (!this.#isEchoPossible) this.#open(this.#count)
    else if (this.#canceller.isEcho) {
      if (this.#noEcho < 0) this.#end()
      else this.#dismiss()
      this.#state = "waiting"
      this.#noEcho = 0
    } else if (this.#noEcho >= 0) {
      if (isHeardNow && ++this.#noEcho >= noEchoFrames) this.#decide()
    } else if ((isHeardNow && ++this.#speech >= goesOnFrames) || this.#count === waitingFrames) this.#decide()
  }

  /** The speech that waits is the caller's, or only an echo. */
  #decide(): void {
    if (this.#canceller.resembles(Number.POSITIVE_INFINITY)) {
      this.#dismiss()
      this.#state = "waiting"
      this.#noEcho = 0
    } else this.#open(this.#count)
  }

  /** The speech that waits is over: it may be the last sound of the caller's, or an echo. */
  #end(): void {
    if (this.#canceller.isKnown || !this.#canceller.resembles(this.#count * frameMs)) {
      this.#before = this.#count
      this.#count = 0
    }
    this.#dismiss()
  }

  /** What waits is none of the caller's speech. */
  #dismiss(): void {
    this.#silent = this.#count
    this.#count = 0
    this.#speech = 0
    this.#noEcho = -1
    this.#state = "closed"
  }

  #wait(): void {
    this.#state = "waiting"
    this.#speech = 0
    this.#noEcho = -1
    this.#count = 0
  }

  #open(before: number): void {
    this.#state = "open"
    this.#noEcho = -1
    this.#before = before
    this.#count = 0
  }

  /** The frame without the echo. */
  get #clean(): Int16Array {
    return this.#canceller.isEcho ? this.#silence : this.#canceller.clean
  }

  #hold(): void {
    const clean = this.#clean
    this.#held[this.#next]?.set(clean)
    this.#energies[this.#next] = energyOf(clean)
    this.#next = (this.#next + 1) % waitingFrames
    this.#count = Math.min(waitingFrames, this.#count + 1)
  }

  /** How many of the frames before this one belong to the speech that begins. */
  #preRoll(): number {
    const spoken = Math.ceil(this.#lasted("speech") / frameMs) - 1
    const most = Math.min(this.#count, preRollFrames)
    let frames = Math.min(this.#count, Math.max(0, spoken))
    while (frames < most && this.#energyBefore(frames + 1) < this.#loudest * weakest) frames++
    return frames
  }

  #lasted(state: "speech" | "silence"): number {
    return this.#detector.lasted?.(state) ?? 0
  }

  #energyBefore(frames: number): number {
    return this.#energies[(this.#next - frames + waitingFrames) % waitingFrames] ?? 0
  }
}

const energyOf = (frame: Int16Array): number => {
  let energy = 0
  for (let i = 0; i < frame.length; i++) energy += (frame[i] ?? 0) ** 2
  return energy
}
