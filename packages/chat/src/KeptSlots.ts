import type { ChatSlot } from "./ChatSlotsRepo.ts"

/** Milliseconds for which a slot is kept without a use. */
const keptFor = 30_000

interface Kept {
  readonly slot: ChatSlot
  /** When its last completion ended, ms. */
  readonly since: number
}

/**
 * Slots in the database that this server has and does not use, by organization: the next completions take them without
 * asking the database.
 */
export class KeptSlots {
  private readonly byOrg = new Map<number, Array<Kept>>()

  /** Keeps a slot; false when `limit` slots of its organization are kept. */
  keep(slot: ChatSlot, limit: number, now: number): boolean {
    const kept = this.byOrg.get(slot.org_id) ?? []
    if (kept.length >= limit) return false
    kept.push({ slot, since: now })
    this.byOrg.set(slot.org_id, kept)
    return true
  }

  /** The slot of an organization that was used last, when it was taken under this lease. */
  take(orgId: number, nodeId: string): ChatSlot | undefined {
    const kept = this.byOrg.get(orgId)
    if (kept?.at(-1)?.slot.node_id !== nodeId) return undefined
    const slot = kept.pop()?.slot
    if (kept.length === 0) this.byOrg.delete(orgId)
    return slot
  }

  /** Removes the slots that were not used for 30 seconds, and those of another lease than this one. */
  removeUnused(nodeId: string, now: number): ReadonlyArray<ChatSlot> {
    return this.remove(({ since, slot }) => now - since >= keptFor || slot.node_id !== nodeId)
  }

  removeAll(): ReadonlyArray<ChatSlot> {
    return this.remove(() => true)
  }

  private remove(isRemoved: (kept: Kept) => boolean): ReadonlyArray<ChatSlot> {
    const removed: Array<ChatSlot> = []
    for (const [orgId, kept] of this.byOrg) {
      const left = kept.filter((one) => !isRemoved(one))
      for (const one of kept) if (isRemoved(one)) removed.push(one.slot)
      if (left.length > 0) this.byOrg.set(orgId, left)
      else this.byOrg.delete(orgId)
    }
    return removed
  }
}
