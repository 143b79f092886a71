import { Context, Effect, Layer } from "effect"
import { realTime, type TimeSource } from "./TimeSource.ts"

/** Something that is called every 20 ms while it has something to do. */
export interface Ticking {
  /** False: nothing is left to do, do not call again. Must not throw. */
  readonly tick: () => boolean
}

const slotMs = 5
const slotCount = 4

/** After a longer stall the lost time is skipped, so that nobody gets more than three frames at once. */
const longestCatchUpMs = 60

/** Timers fire up to this early. */
const toleranceMs = 0.3

/**
 * The pace of the simulated network: one timer for all phones that speak, however many. Phones are spread over four slots of
 * 5 ms. The timer stands still when nobody speaks.
 */
export class MediaClock {
  readonly #time: TimeSource
  readonly #slots: ReadonlyArray<Set<Ticking>> = Array.from({ length: slotCount }, () => new Set<Ticking>())
  readonly #slotOf = new Map<Ticking, Set<Ticking>>()
  #origin = 0
  #slot = 0
  #cancel: (() => void) | undefined

  constructor(time: TimeSource) {
    this.#time = time
  }

  /** How many are being called. */
  get size(): number {
    return this.#slotOf.size
  }

  /** Calls `ticking` at once and then every 20 ms. Does nothing when it is being called already. */
  start(ticking: Ticking): void {
    if (this.#slotOf.has(ticking)) return
    if (this.#slotOf.size === 0 && this.#cancel === undefined) {
      this.#origin = this.#time.now()
      this.#slot = 1
      this.#wait()
    }
    // The slot that comes due last: 15 to 20 ms from now.
    const slot = this.#slots[(this.#slot + slotCount - 1) % slotCount]
    if (slot === undefined) return
    slot.add(ticking)
    this.#slotOf.set(ticking, slot)
    this.#call(ticking)
  }

  stop(ticking: Ticking): void {
    this.#slotOf.get(ticking)?.delete(ticking)
    this.#slotOf.delete(ticking)
  }

  /** Stops all. */
  stopAll(): void {
    for (const slot of this.#slots) slot.clear()
    this.#slotOf.clear()
    this.#cancel?.()
    this.#cancel = undefined
  }

  #call(ticking: Ticking): void {
    if (!ticking.tick()) this.stop(ticking)
  }

  #due(slot: number): number {
    return this.#origin + slot * slotMs
  }

  #wait(): void {
    const ms = Math.max(1, Math.ceil(this.#due(this.#slot) - this.#time.now() - toleranceMs))
    this.#cancel?.()
    this.#cancel = this.#time.schedule(() => this.#pulse(), ms)
  }

  #pulse(): void {
    this.#cancel = undefined
    const now = this.#time.now()
    const behind = now - this.#due(this.#slot)
    if (behind > longestCatchUpMs) this.#origin += behind - (behind % slotMs)
    while (this.#due(this.#slot) <= now + toleranceMs) {
      const slot = this.#slots[this.#slot++ % slotCount]
      if (slot !== undefined) for (const ticking of slot) this.#call(ticking)
    }
    if (this.#slotOf.size > 0) this.#wait()
  }
}

/** The one media clock of a plugin. */
export class NetworkClock extends Context.Tag("@svc/plugin-simulated/NetworkClock")<NetworkClock, MediaClock>() {
  /** A clock on another time, e.g. `ManualTime`. It stops with its scope. */
  static readonly layerOn = (time: TimeSource): Layer.Layer<NetworkClock> =>
    Layer.scoped(
      NetworkClock,
      Effect.acquireRelease(
        Effect.sync(() => new MediaClock(time)),
        (clock) => Effect.sync(() => clock.stopAll())
      )
    )

  static readonly layer: Layer.Layer<NetworkClock> = NetworkClock.layerOn(realTime)
}
