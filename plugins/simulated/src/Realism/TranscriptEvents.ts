import type { SpeechEvent } from "@svc/providers/SpeechToText"
import type { Outcome, ToneListener } from "../ToneSpeech/ToneDecoder.ts"
import type { SttRealism } from "./Realism.ts"
import type { Seeded } from "./Seeded.ts"

/** The confidence of an utterance by its outcome. */
const confidence: { readonly [K in Outcome]: number } = { ok: 1, cut: 0.7, bad: 0.5 }

/** When the speech has ended, in milliseconds from now: a whole utterance is decoded two frames before, a cut one after. */
const endOfSpeech: { readonly [K in Outcome]: number } = { ok: 40, bad: 40, cut: -200 }

export interface TranscriptOptions {
  readonly realism: () => SttRealism
  readonly emit: (event: SpeechEvent) => void
  /** Runs a callback after so many milliseconds, unless the session is closed. */
  readonly after: (ms: number, run: () => void) => void
  /** The number of the next final in the call, from 1. */
  readonly countFinal: () => number
  readonly random: Seeded
}

/**
 * The events of a speech-to-text session, from those of a decoder. Without realism a partial comes with the first
 * character and with every complete word, the final and the end of the turn at the end of the utterance.
 */
export class TranscriptEvents implements ToneListener {
  readonly #options: TranscriptOptions
  /** The utterance so far. */
  #text = ""
  #isSpeaking = false
  /** Partials of the utterance, and milliseconds of speech since the last one. */
  #partials = 0
  #sincePartial = 0
  #utterances = 0
  /** The number of words after which an eager end of the utterance is told, to be withdrawn; 0: none. */
  #earlyEnd = 0
  /** The text of an eager end that was not withdrawn. */
  #eager: string | undefined
  /** What was said since the last end of a turn. */
  #turn: ReadonlyArray<string> = []
  /** What is due later, in order. */
  #pending: ReadonlyArray<() => void> = []
  /** Stops the end of the turn that is due. */
  #keepTurn = () => {}
  #isFlushing = false

  constructor(options: TranscriptOptions) {
    this.#options = options
  }

  readonly started = (): void => {
    // The caller goes on: the end of the turn that is due was none.
    this.#keepTurn()
    this.#withdraw()
    this.#text = ""
    this.#isSpeaking = true
    this.#partials = 0
    this.#sincePartial = 0
    this.#earlyEnd = 0
    // In the first utterance as soon as possible, so that the shortest call has one.
    const words = this.#utterances === 0 ? 1 : 1 + this.#options.random.below(3)
    if (this.#isEager && this.#utterances++ % 2 === 0) this.#earlyEnd = words
    this.#options.emit({ _tag: "SpeechStarted" })
  }

  readonly progressed = (text: string): void => {
    this.#withdraw()
    this.#text = text
    if (this.#options.realism().partial_every_ms === undefined) this.#emitPartial()
    const isWhole = text.length > 1
    if (this.#earlyEnd === 0 || !isWhole || text.split(" ").length < this.#earlyEnd) return
    this.#earlyEnd = 0
    this.#emitEagerEnd([...this.#turn, text])
  }

  readonly ended = (text: string, outcome: Outcome): void => {
    this.#isSpeaking = false
    if (text.trim() === "") {
      if (this.#turn.length > 0) this.#later(0, () => this.#endTurn())
      return
    }
    const { final_after_ms, late_final_ms = 0, miss_final } = this.#options.realism()
    const turn = [...this.#turn, text]
    this.#turn = turn
    const wait = final_after_ms === undefined ? 0 : Math.max(0, endOfSpeech[outcome] + final_after_ms)
    const n = this.#options.countFinal()
    const isMissed = miss_final !== undefined && n % miss_final === 0
    // Where the final is late, the words are told before.
    if (!this.#isFlushing && (isMissed || wait + late_final_ms > 0)) this.#partial(text)
    if (this.#eager !== undefined && this.#eager !== turn.join(" ")) this.#withdraw()
    if (this.#isEager && this.#eager === undefined) this.#emitEagerEnd(turn)

    const final = (): void => {
      if (!isMissed) this.#options.emit({ _tag: "Final", text, confidence: confidence[outcome] })
    }
    let isKept = false
    // A constant first: see docs/decisions/0034-short-lived-objects.md.
    const keepTurn = (): void => {
      isKept = true
    }
    this.#keepTurn = keepTurn
    this.#later(wait, () => {
      if (late_final_ms === 0) final()
      if (!isKept) this.#endTurn()
      if (late_final_ms > 0) this.#later(late_final_ms, final)
    })
  }

  /** So many milliseconds of audio were heard. */
  heard(ms: number): void {
    const { partial_every_ms } = this.#options.realism()
    if (partial_every_ms === undefined || !this.#isSpeaking) return
    this.#sincePartial += ms
    if (this.#sincePartial < partial_every_ms || this.#text === "") return
    this.#sincePartial = 0
    this.#emitPartial()
  }

  /** Emits at once what is due later; `cut` ends an unfinished utterance. */
  flush(cut: () => void): void {
    this.#isFlushing = true
    cut()
    for (let next = this.#pending[0]; next !== undefined; next = this.#pending[0]) {
      this.#pending = this.#pending.slice(1)
      next()
    }
    this.#isFlushing = false
  }

  get #isEager(): boolean {
    const { eager, endpointing } = this.#options.realism()
    return eager === true && endpointing !== "none"
  }

  #later(ms: number, run: () => void): void {
    if (ms === 0) {
      run()
      return
    }
    this.#pending = [...this.#pending, run]
    if (this.#isFlushing) return
    this.#options.after(ms, () => {
      if (!this.#pending.includes(run)) return
      this.#pending = this.#pending.filter((each) => each !== run)
      run()
    })
  }

  #endTurn(): void {
    this.#turn = []
    this.#eager = undefined
    if (this.#options.realism().endpointing !== "none") this.#options.emit({ _tag: "EndOfTurn" })
  }

  #emitEagerEnd(turn: ReadonlyArray<string>): void {
    this.#eager = turn.join(" ")
    this.#options.emit({ _tag: "EagerEndOfTurn", text: this.#eager })
  }

  #withdraw(): void {
    if (this.#eager === undefined) return
    this.#eager = undefined
    this.#options.emit({ _tag: "TurnResumed" })
  }

  #emitPartial(): void {
    this.#partial(this.#options.realism().revise === true ? this.#misheard(this.#text) : this.#text)
  }

  #partial(text: string): void {
    this.#partials++
    this.#options.emit({ _tag: "Partial", text })
  }

  /** The first partial of an utterance has a wrong last word, others have it too, or lack the word. */
  #misheard(text: string): string {
    const words = text.split(" ")
    const choice = this.#partials === 0 ? 0 : this.#options.random.next()
    if (choice < 0.4) return [...words.slice(0, -1), mishear(words.at(-1) ?? "")].join(" ")
    return choice < 0.6 && words.length > 1 ? words.slice(0, -1).join(" ") : text
  }
}

/** The word with the next letter or digit at its beginning. */
const mishear = (word: string): string => {
  const [first = ""] = word
  const wrong = /[a-yA-Y0-8]/.test(first) ? String.fromCharCode(first.charCodeAt(0) + 1) : "a"
  return wrong + word.slice(first.length)
}
