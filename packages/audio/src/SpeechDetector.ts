import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { Background } from "./SpeechDetector/Background.ts"
import { BandSplitter, bandCount } from "./SpeechDetector/BandSplitter.ts"
import { EchoGate } from "./SpeechDetector/EchoGate.ts"
import { NoiseFloors } from "./SpeechDetector/NoiseFloors.ts"
import { periodicity } from "./SpeechDetector/Periodicity.ts"
import { type FrameFeatures, SpeechDecision } from "./SpeechDetector/SpeechDecision.ts"
import { Steadiness } from "./SpeechDetector/Steadiness.ts"
import { TelephoneRate } from "./SpeechDetector/TelephoneRate.ts"

/** A second opinion on frames that would count as speech; all must agree. One for each detector. */
export interface SpeechVeto {
  /** Whether a frame of 160 samples at 8 kHz sounds like speech. Called for some frames only. */
  readonly isSpeech: (frame: Int16Array) => boolean
  /** Releases it. It is not used afterwards. */
  readonly close: () => void
}

/** Levels in dB; 0 dB is a mean square of 1. Nothing below `silence` is speech, no floor is lower than `lowestFloor`. */
const silence = 31.6
const lowestFloor = 18
/** A band counts from this far above its floor, and more if its noise varies by more than `spreadFree`. */
const margin = 2.8
const spreadFree = 2
/** A band counts from this far above the predicted echo. */
const echoMargin = 0.2
/** Speech has sound above 1 kHz, at most this many dB below the whole; low tones do not. */
const brightness = 30
/** Voiced speech has a harmonic between 250 and 500 Hz, at most this many dB below the whole. */
const fundamental = 22
/** What is struck rings higher, and fades by more than this from frame to frame: so does the next blow within 160 ms. */
const ringing = 2.5
const ringingFrames = 8
/** How much one band adds to the strength at most. */
const mostPerBand = 17
/** The strength, summed over the bands, from which a frame is loud: usually, and to begin while an echo is possible. */
const enough = 2.7
const enoughInEcho = 11
/** A frame counts that is at most this much below the background's threshold. Its weight there, per dB above, and at most. */
const tolerance = 1.2
const thresholdWeight = 0.8
const weightPerDecibel = 0.13
const mostWeight = 1.5
/** While the agent speaks, a frame counts only from this far above that threshold, except soon after speech: 300 ms. */
const toInterrupt = 6
const recent = 15
/** A frame that is this far below one of the two before it is the end of a click, or of speech. An echo hides the difference. */
const fading = 8.3
/** Speech of more than 400 ms is established. */
const established = 20
/** A frame that is this far above the two before it may be a blow: it weighs less, so that the sound must last for another one. */
const attack = 15
const attackWeight = 0.45
/** A frame that is weaker than the one before by this much is no evidence that speech begins: plucked strings only fall. */
const falling = 0.3
/** A tone of the agent's voice that a room amplifies is more than this above the predicted echo, in dB, in a few bands only. */
const amplified = 3
const fewBands = 3
/** Frames of reported speech in which it may turn out to be an echo on a new path: before it interrupts the agent. */
const firstCheck = 8
const lastCheck = 11

/**
 * The built-in voice activity detector, for telephone sound: levels in five bands above noise floors, periodicity, and an
 * echo gate against the agent's own voice. See docs/voice-activity.md.
 */
export class SpeechDetector implements VoiceActivityDetector {
  readonly #veto: SpeechVeto | undefined
  readonly #heardRate: TelephoneRate
  readonly #sentRate: TelephoneRate
  readonly #bands = new BandSplitter()
  readonly #floors = new NoiseFloors()
  readonly #background = new Background()
  readonly #steadiness = new Steadiness()
  readonly #gate = new EchoGate()
  readonly #decision = new SpeechDecision()
  readonly #features: FrameFeatures = {
    counts: false,
    weight: 0,
    loud: false,
    periodicity: 0,
    steadyFrames: 0,
    echo: false
  }
  #open = true
  /** What the veto said last, and whether it counts for this frame too. */
  #hasAgreed = false
  #isTrusted = false
  /** For how many frames speech has been reported while an echo was possible. */
  #reported = 0
  /** Frames since there was speech. */
  #sinceSpeech = recent + 1
  /** The levels of the last frame and of the one before. */
  #last = 0
  #earlier = 0
  /** Frames since a loud sound faded as what was struck does. */
  #sinceRinging = ringingFrames + 1
  /** The bands that were above the predicted echo since the sound began that is reported, as bits. */
  #aboveEcho = 0

  /** `sampleRate` in Hz, a multiple of 8000. The detector closes `veto`. */
  constructor(sampleRate: number, veto?: SpeechVeto) {
    this.#heardRate = new TelephoneRate(sampleRate)
    this.#sentRate = new TelephoneRate(sampleRate)
    this.#veto = veto
  }

  push(frame: Int16Array): "speech" | "silence" {
    this.#heardRate.push(frame, this.#hear)
    return this.#decision.speech ? "speech" : "silence"
  }

  lasted(state: "speech" | "silence"): number {
    return this.#decision.lasted(state)
  }

  sent(frame: Int16Array | undefined): void {
    if (frame !== undefined) this.#sentRate.push(frame, this.#send)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#veto?.close()
  }

  readonly #send = (frame: Int16Array): void => this.#gate.sent(frame)

  readonly #hear = (frame: Int16Array): void => {
    const features = this.#features
    const bands = this.#bands
    const { speech, speechFrames } = this.#decision
    bands.push(frame)
    const wasKnown = this.#gate.known
    const echo = this.#gate.push(bands, speech)
    if (this.#gate.known && !wasKnown) this.#background.relearn()
    const steadyFrames = this.#steadiness.push(bands)
    const strength = this.#strength(echo)
    const loud = strength > (echo && !speech ? enoughInEcho : enough) && bands.level > silence && steadyFrames === 0
    this.#sinceRinging = loud && bands.level < this.#last - ringing ? 0 : this.#sinceRinging + 1
    features.echo = echo
    features.steadyFrames = steadyFrames
    features.loud = loud
    features.periodicity =
      loud && this.#decision.needsPeriodicity && this.#mayBeVoiced(echo) ? periodicity(bands.low) : 0
    const over = bands.level - this.#background.threshold(echo)
    const needed = echo && this.#sinceSpeech > recent ? toInterrupt : -tolerance
    features.counts = loud && over > needed && (echo || !this.#fades()) && this.#isBright() && this.#agrees(frame)
    const isEvidence = features.counts && (echo || bands.level > this.#last - falling)
    const heaviest = !echo && this.#attacks() ? attackWeight : mostWeight
    features.weight = isEvidence ? Math.min(heaviest, thresholdWeight + over * weightPerDecibel) : 0
    if (this.#reported === 0 && !features.counts) this.#aboveEcho = 0
    this.#background.push(bands.level, speechFrames, echo, this.#gate.isEcho)
    this.#floors.push(bands.levels, this.#gate.isEcho ? "echo" : steadyFrames > 0 ? "steady" : "noise")
    this.#earlier = this.#last
    this.#last = bands.level
    this.#decision.push(features)
    this.#sinceSpeech = this.#decision.speech ? 0 : this.#sinceSpeech + 1
    this.#reported = this.#decision.speech && echo ? this.#reported + 1 : 0
    const isChecked = this.#reported >= firstCheck && this.#reported <= lastCheck
    if (isChecked && (this.#isResonance() || this.#gate.hasMoved())) this.#decision.revoke()
  }

  /** Whether the reported speech is the agent's own, amplified by a room. A caller is above the echo in most bands. */
  #isResonance(): boolean {
    return this.#gate.isResonant(bitsOf(this.#aboveEcho) > fewBands)
  }

  /** Whether the level falls as fast as that of a click. */
  #fades(): boolean {
    return this.#bands.level <= Math.max(this.#last, this.#earlier) - fading
  }

  /** Whether the level rises as fast as that of a blow. An echo hides the difference. */
  #attacks(): boolean {
    return this.#bands.level > Math.max(this.#last, this.#earlier) + attack
  }

  /** Whether the sound may be a voice, and not the ringing of something that was struck. An echo hides the difference. */
  #mayBeVoiced(echo: boolean): boolean {
    if (echo || this.#sinceRinging > ringingFrames || this.#decision.speechFrames > established) return true
    return (this.#bands.levels[0] ?? 0) > this.#bands.level - fundamental
  }

  #isBright(): boolean {
    const { level, levels } = this.#bands
    return Math.max(levels[2] ?? 0, levels[3] ?? 0, levels[4] ?? 0) > level - brightness
  }

  /** In established speech, the veto is asked about every second frame only, as long as it agrees. */
  #agrees(frame: Int16Array): boolean {
    if (this.#veto === undefined || !this.#open) return true
    this.#isTrusted = !this.#isTrusted && this.#decision.speechFrames > established
    if (this.#isTrusted && this.#hasAgreed) return true
    this.#hasAgreed = this.#veto.isSpeech(frame)
    return this.#hasAgreed
  }

  /** By how much the bands exceed noise and echo, in dB. */
  #strength(echo: boolean): number {
    const { levels } = this.#bands
    const { floors } = this.#floors
    let strength = 0
    for (let band = 0; band < bandCount; band++) {
      const level = levels[band] ?? 0
      const spread = Math.max(0, this.#floors.spread(band) - spreadFree)
      let over = level - Math.max(lowestFloor, floors[band] ?? 0) - margin - spread
      if (echo) {
        over = Math.min(over, level - (this.#gate.echo[band] ?? 0) - echoMargin)
        if (over > amplified) this.#aboveEcho |= 1 << band
      }
      if (over > 0) strength += Math.min(mostPerBand, over)
    }
    return strength
  }
}

const bitsOf = (mask: number): number => {
  let count = 0
  for (let rest = mask; rest > 0; rest &= rest - 1) count++
  return count
}
