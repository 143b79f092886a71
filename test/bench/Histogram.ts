import type { Quantiles } from "./ProcessRequests.ts"

const steps = 20_000
const perMs = 10

/** Counts of times, in steps of 0.1 ms up to 2 s. */
export class Histogram {
  private readonly counts = new Uint32Array(steps + 1)
  private total = 0
  private longest = 0

  add(ms: number): void {
    const step = Math.min(steps, Math.max(0, Math.round(ms * perMs)))
    this.counts[step] = (this.counts[step] ?? 0) + 1
    this.total++
    if (ms > this.longest) this.longest = ms
  }

  clear(): void {
    this.counts.fill(0)
    this.total = 0
    this.longest = 0
  }

  get count(): number {
    return this.total
  }

  /** The time that a share of the entries stayed at or under; 0 without entries. */
  quantile(share: number): number {
    let seen = 0
    for (let step = 0; step <= steps && this.total > 0; step++) {
      seen += this.counts[step] ?? 0
      if (seen >= share * this.total) return step / perMs
    }
    return 0
  }

  get quantiles(): Quantiles {
    return { p50: this.quantile(0.5), p99: this.quantile(0.99), max: this.longest }
  }
}
