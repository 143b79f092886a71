/** Called every 20 ms. */
export interface Paced {
  readonly tick: () => void
}

const slotMs = 5
const slotCount = 4
/** After a longer stall the missed slots are skipped. */
const stallMs = 100

/** The clock of all callers: each is called every 20 ms, a quarter of them every 5 ms. */
export class Pacer {
  private readonly slots: ReadonlyArray<Set<Paced>> = Array.from({ length: slotCount }, () => new Set<Paced>())
  private timer: NodeJS.Timeout | undefined
  private origin = performance.now()
  private slot = 0
  private next = 0

  add(paced: Paced): void {
    this.slots[this.next++ % slotCount]?.add(paced)
    if (this.timer === undefined) this.start()
  }

  remove(paced: Paced): void {
    for (const slot of this.slots) slot.delete(paced)
  }

  stop(): void {
    clearTimeout(this.timer)
    for (const slot of this.slots) slot.clear()
  }

  private start(): void {
    this.origin = performance.now()
    this.slot = 0
    this.wait()
  }

  private wait(): void {
    const due = this.origin + this.slot * slotMs
    this.timer = setTimeout(() => this.pulse(), Math.max(1, Math.ceil(due - performance.now() - 0.3)))
  }

  private pulse(): void {
    const now = performance.now() + 0.3
    const behind = now - (this.origin + this.slot * slotMs)
    if (behind > stallMs) this.slot += Math.floor(behind / slotMs)
    for (; this.origin + this.slot * slotMs <= now; this.slot++) {
      const due = this.slots[this.slot % slotCount]
      if (due !== undefined) for (const paced of due) paced.tick()
    }
    this.wait()
  }
}
