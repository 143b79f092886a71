import { frameMs } from "@svc/providers/Audio"

/** The frames whose evidence is added up, as bits too. */
const windowFrames = 5
const window = 0b11111
/** Speech begins from this weight, and this much periodicity above `unvoiced`: usually, and while an echo is possible. */
const neededWeight = 2
const neededWeightInEcho = 3.6
const unvoiced = 0.5
const neededPeriodicity = 0.33
const neededPeriodicityInEcho = 0.42
/** The periodicity from which a frame is voiced. */
const voicedFrom = 0.64
/** Frames after the last voiced one in which sound is still speech: 100 ms. */
const unvoicedFrames = 5
/** Silence that ends speech, in frames: later, within the first 300 ms, and while an echo is possible. */
const hangover = 10
const shortHangover = 5
const echoHangover = 10
const youngFrames = 15
/** How much a loud frame that does not count adds to the silence. */
const loudPart = 0.7

/** What the features say about one frame. Mutable, so that a detector can use one object for all its frames. */
export interface FrameFeatures {
  /** It is loud enough and sounds like speech. */
  counts: boolean
  /** How much the frame contributes to the beginning of speech; 0 if it does not count. */
  weight: number
  /** It is above the noise floor. */
  loud: boolean
  /** From 0 to 1, see `periodicity`; 0 if the frame is not loud, or not searched. */
  periodicity: number
  /** For how many frames the sound has not changed; 0 if it does. */
  steadyFrames: number
  /** It may contain the agent's own voice. */
  echo: boolean
}

/** Speech began with a frame that counted, followed by less than so many that did not, and so on until now. */
const longestGap = 4

/** Frames since the oldest one that counted, this one included. */
const lengthOf = (bits: number): number => 32 - Math.clz32(bits)

/** The same, of frames that counted one soon after the other. */
const chainOf = (bits: number): number => {
  let length = 0
  for (let gap = 0; gap < longestGap && length + gap < 32; ) {
    if (((bits >>> (length + gap)) & 1) === 0) gap++
    else {
      length += gap + 1
      gap = 0
    }
  }
  return length
}

/** Makes speech and silence of frames: speech begins when the last five frames are evidence enough, and ends after a hangover. */
export class SpeechDecision {
  speech = false
  #counted = 0
  /** Which of the last 32 frames counted, as bits. */
  #history = 0
  /** The periodicity above `unvoiced` of the last frames that count, in a ring. */
  readonly #periodicities = new Float64Array(windowFrames)
  /** The weights of the last frames, in the same ring. */
  readonly #weights = new Float64Array(windowFrames)
  #at = 0
  #sinceVoiced = unvoicedFrames + 1
  /** Frames since the present speech or silence began. */
  #age = 0
  /** Frames since the last one that counted. */
  #quiet = 0
  /** What has accumulated towards the hangover. */
  #silence = 0

  /** Frames since speech began; 0 in silence. */
  get speechFrames(): number {
    return this.speech ? this.#age : 0
  }

  /** Whether the next frame must be searched for a period: in speech, the frame after a voiced one need not. */
  get needsPeriodicity(): boolean {
    return !this.speech || this.#sinceVoiced > 0
  }

  push({ counts, echo, loud, periodicity, steadyFrames, weight }: FrameFeatures): void {
    this.#counted = ((this.#counted << 1) | (counts ? 1 : 0)) & window
    this.#history = (this.#history << 1) | (counts ? 1 : 0)
    this.#periodicities[this.#at] = counts ? Math.max(0, periodicity - unvoiced) : 0
    this.#weights[this.#at] = weight
    this.#at = (this.#at + 1) % windowFrames
    this.#sinceVoiced = periodicity > voicedFrom ? 0 : this.#sinceVoiced + 1
    const nearVoice = this.#sinceVoiced <= unvoicedFrames
    this.#age++
    if (counts && nearVoice) {
      this.#quiet = 0
      this.#silence = 0
    } else {
      this.#quiet++
      this.#silence += loud && nearVoice ? loudPart : 1
    }
    if (this.speech) this.#continue(echo, steadyFrames)
    else if (this.#isEvident(echo)) {
      this.speech = true
      this.#age = chainOf(this.#history)
      this.#silence = 0
    }
  }

  /** What was taken for speech was none; the silence before it goes on. */
  revoke(): void {
    this.speech = false
    this.#counted = 0
    this.#weights.fill(0)
    this.#periodicities.fill(0)
  }

  #isEvident(echo: boolean): boolean {
    let weight = 0
    let periodicity = 0
    for (let i = 0; i < windowFrames; i++) {
      weight += this.#weights[i] ?? 0
      periodicity += this.#periodicities[i] ?? 0
    }
    if (echo) return weight >= neededWeightInEcho && periodicity >= neededPeriodicityInEcho
    return weight >= neededWeight && periodicity >= neededPeriodicity
  }

  #continue(echo: boolean, steadyFrames: number): void {
    const longest = echo ? echoHangover : this.#age < youngFrames ? shortHangover : hangover
    if (steadyFrames === 0 && this.#silence < longest) return
    this.speech = false
    this.#age = Math.min(this.#age, Math.max(this.#quiet, steadyFrames))
  }

  /**
   * For how many milliseconds the audio has been speech, or silence, until now, with the frames that decided it. A pause
   * within speech counts as speech and, from its first frame, as silence.
   */
  lasted(state: "speech" | "silence"): number {
    if (state === "speech") return frameMs * (this.speech ? this.#age : lengthOf(this.#counted))
    return frameMs * (this.speech ? this.#quiet : this.#age)
  }
}
