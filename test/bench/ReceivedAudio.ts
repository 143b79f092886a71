import { Histogram } from "./Histogram.ts"
import { framesOf } from "./Phrase.ts"

const longest = 4096

/** Figures of the audio that all callers receive. */
export class AudioFigures {
  readonly lateness = new Histogram()
  readonly jitter = new Histogram()
  readonly answer = new Histogram()
  frames = 0
  missing = 0
  turns = 0

  clear(): void {
    this.lateness.clear()
    this.jitter.clear()
    this.answer.clear()
    this.frames = 0
    this.missing = 0
    this.turns = 0
  }
}

/** One utterance of the agent at one caller: when each frame arrived. */
export class Utterance {
  private readonly times = new Float64Array(longest)
  private count = 0
  private text: string | undefined

  get begun(): boolean {
    return this.count > 0
  }

  /** A frame arrived. */
  frame(at: number): void {
    if (this.count < longest) this.times[this.count++] = at
  }

  /** The network reports the decoded text, with the first of the last three frames. */
  understood(text: string): void {
    this.text = text
  }

  /** The utterance is over. */
  finish(figures: AudioFigures): void {
    if (this.count > 0 && this.text !== undefined) this.judge(figures, this.text)
    this.count = 0
    this.text = undefined
  }

  private judge(figures: AudioFigures, text: string): void {
    const first = this.times[0] ?? 0
    let earliest = Number.POSITIVE_INFINITY
    for (let k = 0; k < this.count; k++) earliest = Math.min(earliest, (this.times[k] ?? 0) - 20 * k)
    for (let k = 1; k < this.count; k++) {
      const schedule = (this.times[k] ?? 0) - 20 * k
      figures.lateness.add(schedule - first)
      figures.jitter.add(schedule - earliest)
    }
    figures.turns++
    figures.frames += this.count
    figures.missing += Math.max(0, framesOf(text) - this.count)
  }
}
