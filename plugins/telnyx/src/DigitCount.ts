/** Telnyx reports each digit by both, in either order. */
export type DigitSource = "stream" | "webhook"

/** Counts the digits of a call, so that each is emitted once. */
export class DigitCount {
  readonly #reported: Record<DigitSource, number> = { stream: 0, webhook: 0 }
  #emitted = 0

  /** The digit that a source reports, in upper case; undefined: it is none, or the other source has reported it already. */
  count(source: DigitSource, digit: string): string | undefined {
    if (!/^[0-9*#A-Da-d]$/.test(digit)) return undefined
    this.#reported[source]++
    if (this.#reported[source] <= this.#emitted) return undefined
    this.#emitted = this.#reported[source]
    return digit.toUpperCase()
  }
}
