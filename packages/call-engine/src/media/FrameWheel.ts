/**
 * The loop that paces the audio of all calls: they are spread over slots of 5 ms, and each is ticked every 20
 * ms, without Effect, timer or allocation per frame. The `Ticker` drives it and supplies the time.
 */

/**
 * Sends one frame per tick, or takes what has arrived; returns false when it has nothing left to do. `now`: when the
 * round of ticks began, in which nothing was read from the network.
 */
export interface FrameSource {
  readonly tick: (now: number) => boolean
  /** It takes audio and sends none: its lateness is not counted. */
  readonly isInbound?: boolean
}

/** Length of a slot in ms, and slots per 20 ms frame. */
export const slotMs = 5
const slotCount = 4
/** A loop that is later than this, in ms, skips the slots it missed: a burst of old frames is useless to the caller. */
const stallMs = 100

/** Counts of outbound frames by lateness, in steps of 0.25 ms up to 64 ms. */
export class Lateness {
  private readonly counts = new Float64Array(257)
  private total = 0
  private sum = 0

  add(ms: number): void {
    const step = Math.min(256, Math.max(0, Math.floor(ms * 4)))
    this.counts[step] = (this.counts[step] ?? 0) + 1
    this.total++
    this.sum += Math.max(0, ms)
  }

  /** The lateness of all frames together, in ms; early ones count as on time. */
  get totalMs(): number {
    return this.sum
  }

  /** How many frames were less late than this, a whole number of ms up to 64. */
  within(ms: number): number {
    let seen = 0
    for (let step = 0; step < ms * 4; step++) seen += this.counts[step] ?? 0
    return seen
  }

  /** The lateness in ms that this share of the frames did not exceed; 0 without frames. */
  quantile(share: number): number {
    let seen = 0
    for (let i = 0; i < this.counts.length; i++) {
      seen += this.counts[i] ?? 0
      if (seen >= this.total * share && this.total > 0) return (i + 1) / 4
    }
    return 0
  }

  get frames(): number {
    return this.total
  }

  reset(): void {
    this.counts.fill(0)
    this.total = 0
    this.sum = 0
  }
}

export class FrameWheel {
  private readonly slots: ReadonlyArray<Array<FrameSource>> = Array.from({ length: slotCount }, () => [])
  private readonly slotOf = new Map<FrameSource, number>()
  private origin = 0
  /** Slots since `origin`. */
  private slotIndex = 0
  readonly lateness = new Lateness()
  /** Slots skipped after stalls. */
  skipped = 0
  private readonly wake: () => void

  /** `wake` is called when the first source joins an idle wheel. */
  constructor(wake: () => void) {
    this.wake = wake
  }

  get idle(): boolean {
    return this.slotOf.size === 0
  }

  /** When the next slot is due, on the ticker's clock in ms. */
  get nextDue(): number {
    return this.origin + this.slotIndex * slotMs
  }

  /** Adds a source: it sends its first frame at once, then one every 20 ms. */
  join(source: FrameSource, now: number): void {
    if (this.slotOf.has(source)) return
    if (this.idle) {
      this.origin = now
      this.slotIndex = 1
    }
    // The slot that was due last is due again in 15 to 20 ms.
    const slot = (this.slotIndex + slotCount - 1) % slotCount
    this.slotOf.set(source, slot)
    this.slots[slot]?.push(source)
    if (this.slotOf.size === 1) this.wake()
    if (!source.tick(now)) this.leave(source)
  }

  leave(source: FrameSource): void {
    const slot = this.slotOf.get(source)
    if (slot === undefined) return
    this.slotOf.delete(source)
    const list = this.slots[slot]
    const index = list?.indexOf(source) ?? -1
    const last = list?.pop()
    if (list !== undefined && last !== undefined && index < list.length) list[index] = last
  }

  /** Ticks all slots that are due at `now`. `clock` is read after each frame, for the lateness. */
  tickDueSlots(now: number, clock: () => number): void {
    if (now - this.nextDue > stallMs) {
      const missed = Math.floor((now - this.nextDue) / slotMs)
      this.skipped += missed
      this.slotIndex += missed
    }
    while (!this.idle && this.nextDue <= now) {
      const due = this.nextDue
      const list = this.slots[this.slotIndex % slotCount] ?? []
      // Backwards, because `leave` replaces a source by the last one.
      for (let i = list.length - 1; i >= 0; i--) {
        const source = list[i]
        if (source === undefined) continue
        if (!source.tick(now)) this.leave(source)
        if (source.isInbound !== true) this.lateness.add(clock() - due)
      }
      this.slotIndex++
    }
  }
}
