import { Context, Effect, Layer } from "effect"
import { realTime, type TimeSource } from "./TimeSource.ts"

/** Is called every 20 ms while it has work. */
export interface TickListener {
  /** Returns false when no work is left, and is then not called again. Must not throw. */
  readonly tick: () => boolean
}

const slotMs = 5
const slotCount = 4

/**
 * After a longer stall the missed time is skipped, so that no listener gets more than five ticks at once. The server's own
 * limit is the same: with a lower one here, phones would fall further behind the server with each stall.
 */
const maxCatchUpMs = 100

/** Timers may fire this early. */
const toleranceMs = 0.3

/**
 * The clock of the simulated network: one timer for all phones that send audio, spread over four slots of 5 ms. The
 * timer stops while no phone sends audio.
 */
export class MediaClock {
  readonly #time: TimeSource
  readonly #slots: ReadonlyArray<Set<TickListener>> = Array.from({ length: slotCount }, () => new Set<TickListener>())
  readonly #slotOf = new Map<TickListener, Set<TickListener>>()
  #origin = 0
  #slot = 0
  /** Milliseconds that were skipped after stalls. */
  #stalled = 0
  #cancel: (() => void) | undefined
  /** When the ticks that are being made were found to be due; undefined: none are. */
  #ticking: number | undefined

  constructor(time: TimeSource) {
    this.#time = time
  }

  /** Milliseconds since an arbitrary start. */
  readonly now = (): number => this.#time.now()

  /**
   * The same without the time in which this process stalled: what was to be ticked then is ticked later. So a phone that
   * speaks has not paused. It stands still while listeners are ticked, of which one may stall the others.
   */
  readonly mediaTime = (): number => {
    const now = this.#ticking ?? this.#time.now()
    const behind = this.#cancel === undefined ? 0 : now - this.#due(this.#slot)
    return now - this.#stalled - skippedOf(behind)
  }

  /** The number of active listeners. */
  get size(): number {
    return this.#slotOf.size
  }

  /** Calls `listener` at once and then every 20 ms. Does nothing when it is already active. */
  start(listener: TickListener): void {
    if (this.#slotOf.has(listener)) return
    if (this.#slotOf.size === 0 && this.#cancel === undefined) {
      this.#origin = this.#time.now()
      this.#slot = 1
      this.#wait()
    }
    // The slot that is due last: in 15 to 20 ms.
    const slot = this.#slots[(this.#slot + slotCount - 1) % slotCount]
    if (slot === undefined) return
    slot.add(listener)
    this.#slotOf.set(listener, slot)
    this.#call(listener)
  }

  stop(listener: TickListener): void {
    this.#slotOf.get(listener)?.delete(listener)
    this.#slotOf.delete(listener)
  }

  /** Stops all listeners. */
  stopAll(): void {
    for (const slot of this.#slots) slot.clear()
    this.#slotOf.clear()
    this.#cancel?.()
    this.#cancel = undefined
  }

  #call(listener: TickListener): void {
    if (!listener.tick()) this.stop(listener)
  }

  #due(slot: number): number {
    return this.#origin + slot * slotMs
  }

  #wait(): void {
    const ms = Math.max(1, Math.ceil(this.#due(this.#slot) - this.#time.now() - toleranceMs))
    this.#cancel?.()
    this.#cancel = this.#time.schedule(() => this.#tickDueSlots(), ms)
  }

  #tickDueSlots(): void {
    this.#cancel = undefined
    const now = this.#time.now()
    const behind = now - this.#due(this.#slot)
    this.#origin += skippedOf(behind)
    this.#stalled += skippedOf(behind)
    this.#ticking = now
    while (this.#due(this.#slot) <= now + toleranceMs) {
      const slot = this.#slots[this.#slot++ % slotCount]
      if (slot !== undefined) for (const listener of slot) this.#call(listener)
    }
    this.#ticking = undefined
    if (this.#slotOf.size > 0) this.#wait()
  }
}

/** The time that is skipped, of so many milliseconds that the clock is behind. */
const skippedOf = (behind: number): number => (behind > maxCatchUpMs ? behind - (behind % slotMs) : 0)

/** The media clock of the plugin. */
export class NetworkClock extends Context.Tag("@svc/plugin-simulated/NetworkClock")<NetworkClock, MediaClock>() {
  /** A clock with another time source, e.g. `ManualTime`. It stops with its scope. */
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
