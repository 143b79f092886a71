/**
 * The loop that paces the audio of all calls: they are spread over slots of 5 ms, and each is ticked every 20
 * ms, without Effect, timer or allocation per frame. The `Ticker` drives it and supplies the time.
 */

/**
 * Sends what is due, or takes what has arrived; returns false when it has nothing left to do. `now`: when the round of
 * ticks began, in which nothing was read from the network.
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
/** From this number of inbound sources on, their frames are heard in pairs. */
const manyInbound = 64
/** Frames that are later than this, in ms, are sent in the middle of other work. */
const lateMs = 1

/** Counts of outbound ticks by lateness, in steps of 0.25 ms up to 64 ms. */
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

  /** The lateness of all ticks together, in ms; early ones count as on time. */
  get totalMs(): number {
    return this.sum
  }

  /** How many ticks were less late than this, a whole number of ms up to 64. */
  within(ms: number): number {
    let seen = 0
    for (let step = 0; step < ms * 4; step++) seen += this.counts[step] ?? 0
    return seen
  }

  /** The lateness in ms that this share of the ticks did not exceed; 0 without ticks. */
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

/** The sources of one direction, spread over the slots. */
class Ring {
  readonly #slots: ReadonlyArray<Array<FrameSource>> = Array.from({ length: slotCount }, () => [])
  readonly #slotOf = new Map<FrameSource, number>()
  /** The slot that is due next, counted since the origin of the wheel. */
  next = 1

  get size(): number {
    return this.#slotOf.size
  }

  has(source: FrameSource): boolean {
    return this.#slotOf.has(source)
  }

  /** The slot that was due last is due again in 15 to 20 ms. */
  add(source: FrameSource): void {
    const slot = (this.next + slotCount - 1) % slotCount
    this.#slotOf.set(source, slot)
    this.#slots[slot]?.push(source)
  }

  remove(source: FrameSource): void {
    const slot = this.#slotOf.get(source)
    if (slot === undefined) return
    this.#slotOf.delete(source)
    const list = this.#slots[slot]
    const index = list?.indexOf(source) ?? -1
    const last = list?.pop()
    if (list !== undefined && last !== undefined && index < list.length) list[index] = last
  }

  /** Ticks the slot that is due. `ticked` is called after each source. */
  tick(now: number, ticked: () => void): void {
    const list = this.#slots[this.next % slotCount] ?? []
    // Backwards, because `remove` replaces a source by the last one.
    for (let i = list.length - 1; i >= 0; i--) {
      const source = list[i]
      if (source === undefined) continue
      if (!source.tick(now)) this.remove(source)
      ticked()
    }
    this.next++
  }
}

export class FrameWheel {
  readonly #outbound = new Ring()
  readonly #inbound = new Ring()
  #origin = 0
  #isTicking = false
  readonly lateness = new Lateness()
  /** Slots skipped after stalls. */
  skipped = 0
  readonly #wake: () => void

  readonly #pairFrom: number

  /**
   * `wake` is called when the first source joins an idle wheel. `pairFrom`: from this number of inbound sources on, their
   * frames are heard in pairs.
   */
  constructor(wake: () => void, pairFrom = manyInbound) {
    this.#wake = wake
    this.#pairFrom = pairFrom
  }

  /** Whether the frames of inbound sources are heard in pairs. */
  get hearsInPairs(): boolean {
    return this.#inbound.size >= this.#pairFrom
  }

  get idle(): boolean {
    return this.#outbound.size + this.#inbound.size === 0
  }

  /** When the next slot is due, on the ticker's clock in ms. */
  get nextDue(): number {
    return this.#dueOf(Math.min(this.#outbound.next, this.#inbound.next))
  }

  /** When the next frames are due that are sent; while they are, when they were due. */
  get nextSent(): number {
    return this.#dueOf(this.#outbound.next)
  }

  #dueOf(slot: number): number {
    return this.#origin + slot * slotMs
  }

  #ringOf(source: FrameSource): Ring {
    return source.isInbound === true ? this.#inbound : this.#outbound
  }

  /** Adds a source: it is ticked at once, then every 20 ms. */
  join(source: FrameSource, now: number): void {
    const ring = this.#ringOf(source)
    if (ring.has(source)) return
    if (this.idle) {
      this.#origin = now
      this.#outbound.next = 1
      this.#inbound.next = 1
    }
    const isFirst = this.idle
    ring.add(source)
    if (isFirst) this.#wake()
    const wasTicking = this.#isTicking
    this.#isTicking = true
    try {
      if (!source.tick(now)) ring.remove(source)
    } finally {
      this.#isTicking = wasTicking
    }
  }

  leave(source: FrameSource): void {
    this.#ringOf(source).remove(source)
  }

  /** Ticks all slots that are due at `now`. `clock` is read after each frame, for the lateness. */
  tickDueSlots(now: number, clock: () => number): void {
    this.#skip(this.#outbound, now)
    this.#skip(this.#inbound, now)
    while (!this.idle && this.nextDue <= now) {
      if (this.#outbound.next <= this.#inbound.next) this.#send(now, clock)
      else this.#tick(this.#inbound, now, ignore)
    }
  }

  /**
   * Sends the frames that are late, in the middle of other work: so that frames do not wait until all that has come from
   * the network is done. Takes no audio: more of it may wait to be read.
   */
  sendLate(clock: () => number): void {
    if (this.#isTicking || this.#outbound.size === 0) return
    const now = clock()
    if (now < this.nextSent + lateMs) return
    this.#skip(this.#outbound, now)
    while (this.#outbound.size > 0 && this.nextSent <= now) this.#send(now, clock)
  }

  #send(now: number, clock: () => number): void {
    const due = this.nextSent
    this.#tick(this.#outbound, now, () => this.lateness.add(clock() - due))
  }

  #tick(ring: Ring, now: number, ticked: () => void): void {
    this.#isTicking = true
    try {
      ring.tick(now, ticked)
    } finally {
      this.#isTicking = false
    }
  }

  #skip(ring: Ring, now: number): void {
    const late = now - this.#dueOf(ring.next)
    if (late <= stallMs) return
    const missed = Math.floor(late / slotMs)
    if (ring === this.#outbound) this.skipped += missed
    ring.next += missed
  }
}

const ignore = (): void => {}
