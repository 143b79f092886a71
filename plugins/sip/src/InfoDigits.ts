import type { SipCallOptions } from "./SipCall.ts"

/** From one digit to the next at least, in ms: a digit of 160 ms and a pause. */
const digitMs = 250

/** How long a digit waits for the answer to the one before it, in ms. */
const answerMs = 5000

/** Digits by INFO, one after the other: the next one is sent when the one before it has been answered. */
export class InfoDigits {
  readonly #options: Pick<SipCallOptions, "command" | "later">
  #waiting: ReadonlyArray<string> = []
  /** Digits that were taken from those that wait. */
  #taken = 0
  #unanswered = 0
  /** `sent`: the time of a digit is not over. `due`: it is over, and the answer is missing. */
  #state: "idle" | "sent" | "due" = "idle"

  constructor(options: Pick<SipCallOptions, "command" | "later">) {
    this.#options = options
  }

  /** Sends digits after those that wait; `W` is a pause. */
  send(digits: string): void {
    this.#waiting = [...this.#waiting, ...digits.toUpperCase().replace(/[^0-9*#A-DW]/g, "")]
    if (this.#state === "idle") this.#next()
  }

  /** An INFO has a final response. */
  answered(): void {
    this.#unanswered = Math.max(0, this.#unanswered - 1)
    if (this.#state === "due" && this.#unanswered === 0) this.#next()
  }

  #next(): void {
    const [digit, ...others] = this.#waiting
    this.#waiting = others
    this.#state = digit === undefined ? "idle" : "sent"
    if (digit === undefined) return
    const number = ++this.#taken
    const { command, later } = this.#options
    if (digit !== "W") {
      this.#unanswered++
      later(answerMs, () => {
        if (number === this.#taken && this.#state === "due") this.#next()
      })
    }
    later(digitMs, () => {
      this.#state = "due"
      if (this.#unanswered === 0 || digit === "W") this.#next()
    })
    if (digit !== "W") command({ _tag: "Info", digit })
  }
}
