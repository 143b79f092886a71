import { EchoCanceller, type HeardSound } from "@svc/audio/EchoCanceller"
import { powerOf } from "@svc/audio/Power"
import { frameMs } from "@svc/providers/Audio"

/** How long after the agent's last frame its echo may come, in ms, beside the network's own delay. */
const tailMs = 700
/** Frames that are held back at most while it is not known whose sound they are: 500 ms. */
const mostHeld = 25
/** Sound is compared with the agent's after so many loud frames: for the first time on a new line, and each time after that. */
const comparedNew = 15
const compared = 5
/** Silence of so many frames ends a sound. */
const endFrames = 3
/** A sound of so many loud frames or less is the remainder of an echo, unless the caller spoke in the 300 ms before. */
const restFrames = 2
const recentFrames = 15
/** The caller's speech is compared again after so many of its frames. */
const againFrames = 15
/** A line on which nothing comes back of so many frames has no echo: after 660 ms in all, longer than an echo takes. */
const unansweredFrames = 5
const unansweredMs = 560
/** So is one on which so many comparisons, from 300 ms to 900 ms of sound, found no echo. */
const mostCompared = 7
/** And after so many loud frames that were sent: 2 s. */
const mostSent = 100
/** Frames that are weaker than the loudest one by more than this make no echo that is heard, as a ratio of powers: 20 dB. */
const loudPart = 0.01
/** No echo that matters is weaker than the loudest frame that was sent by more than this, as a ratio of powers: 40 dB. */
const weakestEcho = 1e-4
/** Speech is the caller's if two of the last ten frames have sound that is no echo. */
const foreignWindow = 0b11_1111_1111

/**
 * Keeps the agent's own voice from speech-to-text. Sound that may be its echo is held back until it is known whose it is:
 * an echo becomes silence, and the caller's sound follows whole. Every frame comes out once and in order.
 *
 * | line               | what is heard while an echo is possible       | then                                            |
 * |--------------------|-----------------------------------------------|-------------------------------------------------|
 * | not known          | sound                                         | held, 500 ms at most, until an echo is found     |
 * | not known          | nothing within 660 ms, or sound of the caller | has no echo                                      |
 * | without an echo    | anything                                      | passes at once                                  |
 * | with a known echo  | only the echo                                 | silence                                         |
 * | with a known echo  | sound louder than the echo can be             | passes at once, without the echo                |
 * | with a known echo  | other sound                                   | held, 100 to 300 ms; an echo by another path is silence |
 */
export class EchoGuard {
  readonly #pass: (frame: Int16Array) => void
  readonly #canceller: EchoCanceller
  readonly #silence: Int16Array
  readonly #tail: number
  /** The frames that are held back, in a ring. */
  readonly #held: ReadonlyArray<Int16Array>
  #next = 0
  #count = 0
  /** Loud frames among them, and quiet ones since the last of these. */
  #loud = 0
  #quiet = 0
  /** The caller is speaking: frames pass. For how many loud frames, and how many frames ago the last one was. */
  #isOpen = false
  #openFrames = 0
  #pause = recentFrames
  /** What passes next: silent frames, then the held ones, then the last one or silence. */
  #silent = 0
  #released = 0
  #last: "frame" | "clean" | "silence" | "held" = "frame"
  /** In which of the last frames there was sound that is no echo, as bits. */
  #foreign = 0
  /** When a frame was sent last, and the power of the loudest one since the agent began to speak. */
  #sentAt = Number.NEGATIVE_INFINITY
  #loudest = 0
  /** Loud frames that were sent since something was heard, and when there were enough of them. */
  #loudFrames = 0
  #loudSince = 0
  /** Frames that were sent, or heard and quiet, since then. */
  #waited = 0
  /** All loud frames that were sent. */
  #sentFrames = 0
  /** Comparisons on a new line that found no echo. */
  #comparisons = 0

  /** `pass` gets the frames, which are valid only during the call. `delayMs`: how long audio waits in the network. */
  constructor(options: {
    readonly sampleRate: number
    readonly delayMs: number
    readonly pass: (frame: Int16Array) => void
  }) {
    const frameSamples = (options.sampleRate * frameMs) / 1000
    this.#pass = options.pass
    this.#canceller = new EchoCanceller(options.sampleRate)
    this.#silence = new Int16Array(frameSamples)
    this.#held = Array.from({ length: mostHeld }, () => new Int16Array(frameSamples))
    this.#tail = tailMs + options.delayMs
  }

  /** Takes a frame that is sent to the caller at `now`, in ms. */
  sent(frame: Int16Array, now: number): void {
    this.#canceller.send(frame, now)
    if (now - this.#sentAt > this.#tail) this.#loudest = 0
    const power = powerOf(frame)
    this.#loudest = Math.max(this.#loudest, power)
    this.#sentAt = now
    this.#answered(now)
    if (power <= this.#loudest * loudPart) return
    if (++this.#loudFrames === unansweredFrames) {
      this.#loudSince = now
      this.#waited = 0
    }
    if (++this.#sentFrames === mostSent) this.#canceller.unanswered()
  }

  /** Finds out whether anything came back of what was sent. Where the line sends nothing in silence, no frame says so. */
  #answered(now: number): void {
    if (this.#loudFrames < unansweredFrames) return
    // A process that stalled has heard nothing.
    if (++this.#waited * frameMs > unansweredMs && now - this.#loudSince > unansweredMs) this.#canceller.unanswered()
  }

  /**
   * Takes a frame of the caller that began at `at`, in ms, and what the detector says about it. Returns whose speech it is.
   * `passOn` with the same frame comes next.
   */
  judge(frame: Int16Array, isSpeech: boolean, at: number): "caller" | "unknown" | "none" {
    const now = at + frameMs
    const canceller = this.#canceller
    const isEchoPossible = now - this.#sentAt <= this.#tail
    canceller.push(frame, at, isEchoPossible)
    if (canceller.line === "unknown" && isEchoPossible) this.#judgeNewLine(now)
    else if (canceller.line === "present" && isEchoPossible) this.#judgeKnownEcho()
    else {
      if (isEchoPossible) canceller.watch()
      this.#release()
      this.#isOpen = false
      this.#last = "frame"
    }
    const isForeign = this.#last === "frame" || this.#last === "clean"
    const isHeard = isForeign && canceller.sound !== "quiet"
    this.#foreign = ((this.#foreign << 1) | (isHeard ? 1 : 0)) & foreignWindow
    if (!isSpeech) return "none"
    if (canceller.line !== "present" || !isEchoPossible) return "caller"
    if (this.#count > 0) return "unknown"
    return (this.#foreign & (this.#foreign - 1)) === 0 ? "none" : "caller"
  }

  /** The power of the frame that was judged last, as a mean square. */
  get power(): number {
    return this.#canceller.power
  }

  /** What is heard, as far as it matters beside the agent. */
  get #sound(): HeardSound {
    const { power, sound } = this.#canceller
    return power > this.#loudest * weakestEcho ? sound : "quiet"
  }

  /** The agent speaks on a line of which nothing is known. */
  #judgeNewLine(now: number): void {
    const isLoud = this.#sound !== "quiet"
    if (!isLoud && this.#count === 0) {
      this.#last = "frame"
      this.#answered(now)
      return
    }
    this.#hold(isLoud)
    if (isLoud) this.#loudFrames = 0
    const isEnd = this.#quiet === endFrames
    const isDue = isLoud && this.#loud >= comparedNew && this.#loud % compared === 0
    if (!isEnd && !isDue) return
    if (this.#loud >= comparedNew && this.#canceller.finds((isEnd ? this.#count - endFrames : this.#loud) * frameMs)) {
      this.#dismiss()
    } else {
      if (isDue && ++this.#comparisons >= mostCompared) this.#canceller.unanswered()
      if (isEnd || this.#canceller.line === "absent") this.#release()
    }
  }

  #judgeKnownEcho(): void {
    const sound = this.#sound
    if (this.#isOpen) this.#judgeOpen(sound)
    else if (sound === "caller") {
      if (this.#quiet > 1 && this.#isRest) this.#dismiss()
      this.#open("clean")
    } else if (sound === "unknown") {
      this.#hold(true)
      if (this.#loud % compared === 0) this.#decide(this.#count)
    } else if (this.#count > 0) {
      this.#hold(false)
      if (this.#quiet < endFrames) return
      if (this.#isRest) this.#dismiss()
      else this.#decide(this.#count - endFrames)
    } else {
      this.#pause++
      this.#last = sound === "echo" ? "silence" : "frame"
    }
  }

  /** Whether what is held is only the remainder of an echo. */
  get #isRest(): boolean {
    return this.#loud <= restFrames && this.#pause >= recentFrames
  }

  /** The caller is speaking, or was until now. */
  #judgeOpen(sound: HeardSound): void {
    this.#last = "clean"
    this.#pause = sound === "quiet" || sound === "echo" ? this.#pause + 1 : 0
    if (this.#pause >= endFrames) this.#isOpen = false
    if (this.#pause > 0 || ++this.#openFrames % againFrames !== 0) return
    if (this.#canceller.whose(againFrames * frameMs, true) !== "echo") return
    this.#isOpen = false
    this.#pause = recentFrames
    this.#last = "silence"
  }

  /** Whose sound the held frames are. */
  #decide(frames: number): void {
    const whose = this.#canceller.whose(frames * frameMs)
    if (whose === "echo") this.#dismiss()
    else if (whose === "caller" || this.#count === mostHeld || this.#quiet >= endFrames) this.#open("held")
  }

  /** The caller speaks: what was held passes. */
  #open(last: "clean" | "held"): void {
    this.#release()
    this.#isOpen = true
    this.#openFrames = 0
    this.#pause = 0
    this.#last = last
  }

  #release(): void {
    this.#released += this.#count
    this.#clear()
  }

  /** What was held is silence. */
  #dismiss(): void {
    this.#silent = this.#count
    this.#clear()
    this.#last = "held"
  }

  #clear(): void {
    this.#count = 0
    this.#loud = 0
    this.#quiet = 0
  }

  /** Holds the frame back. If too many are, the first one passes. */
  #hold(isLoud: boolean): void {
    this.#last = "held"
    if (this.#count === mostHeld) this.#passHeld(mostHeld)
    else this.#count++
    const { clean, sound } = this.#canceller
    this.#held[this.#next]?.set(sound === "echo" ? this.#silence : clean)
    this.#next = (this.#next + 1) % mostHeld
    this.#loud += isLoud ? 1 : 0
    this.#quiet = isLoud ? 0 : this.#quiet + 1
  }

  #passHeld(before: number): void {
    const frame = this.#held[(this.#next - before + mostHeld) % mostHeld]
    if (frame !== undefined) this.#pass(frame)
  }

  /** Passes on what speech-to-text gets now. */
  passOn(frame: Int16Array): void {
    for (; this.#silent > 0; this.#silent--) this.#pass(this.#silence)
    for (; this.#released > 0; this.#released--) this.#passHeld(this.#released)
    if (this.#last === "frame") this.#pass(frame)
    else if (this.#last === "clean") this.#pass(this.#canceller.clean)
    else if (this.#last === "silence") this.#pass(this.#silence)
  }
}
