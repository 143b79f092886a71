import { letterOf } from "./Letters.ts"
import type { Claimed } from "./QueueRepo.ts"
import { attemptMs, type Letter, type Reply } from "./Receivers.ts"

/** Requests that a node has under way at once, and to one webhook. */
const most = 1024
const mostPerWebhook = 32
/** The latter once half of all are taken: so a few receivers that hang do not take what others need. */
const mostWhenCrowded = 4
/** How long the next delivery of a call waits for the one before it, in milliseconds. */
const lanePatienceMs = 100

/** A request that is over. */
export interface Landed {
  readonly delivery: Claimed
  /** When it started, in milliseconds. */
  readonly at: number
  readonly reply: Reply
}

/** First attempts of one call to one webhook, which start in order (decisions §5.8). */
interface Lane {
  readonly waiting: Array<Claimed>
  /** The newest that was started. */
  current: number
  startedAt: number
}

interface Flight {
  readonly at: number
  readonly giveUp: () => void
}

/**
 * The deliveries that a node has taken and not yet finished: as many as there is room for, in total and for each webhook.
 * Plain code, because thousands a second go through it. The next delivery of a call starts when the one before it has its
 * answer, or has been under way for a while: receivers see them in order, and one that hangs does not hold them up.
 */
export class Flights {
  readonly #post: (letter: Letter, done: (reply: Reply) => void) => () => void
  readonly #now: () => number
  readonly #landed: (flight: Landed) => void
  readonly #roomAgain: () => void
  readonly #flying = new Map<number, Flight>()
  readonly #busy = new Map<number, number>()
  readonly #lanes = new Map<string, Lane>()
  readonly #known = new Set<number>()

  /** `now` in milliseconds; `roomAgain` is called when a webhook or the whole has room for a lot again. */
  constructor(options: {
    readonly post: (letter: Letter, done: (reply: Reply) => void) => () => void
    readonly now: () => number
    readonly landed: (flight: Landed) => void
    readonly roomAgain: () => void
  }) {
    this.#post = options.post
    this.#now = options.now
    this.#landed = options.landed
    this.#roomAgain = options.roomAgain
  }

  /** Deliveries that are taken. */
  get size(): number {
    return this.#known.size
  }

  get known(): ReadonlyArray<number> {
    return [...this.#known]
  }

  get room(): number {
    return most - this.#known.size
  }

  get perWebhook(): number {
    return this.#known.size < most / 2 ? mostPerWebhook : mostWhenCrowded
  }

  /** How many are taken by webhook. One that is more than half full counts as full: a few at a time cost too much. */
  get busy(): ReadonlyMap<number, number> {
    const limit = this.perWebhook
    return new Map([...this.#busy].map(([id, n]) => [id, n > limit / 2 ? limit : n]))
  }

  start(deliveries: ReadonlyArray<Claimed>): void {
    for (const delivery of deliveries) {
      this.#known.add(delivery.id)
      this.#busy.set(delivery.webhook_id, (this.#busy.get(delivery.webhook_id) ?? 0) + 1)
      const key = laneOf(delivery)
      const lane = key === undefined ? undefined : this.#lanes.get(key)
      if (lane !== undefined) lane.waiting.push(delivery)
      else this.#send(delivery, key)
    }
  }

  /** Gives up what takes too long, and goes on with calls whose delivery takes long. To be called now and then. */
  sweep(): void {
    const now = this.#now()
    for (const [id, { at, giveUp }] of [...this.#flying]) {
      // The map is in the order of the starts.
      if (now - at < attemptMs) break
      if (this.#flying.has(id)) giveUp()
    }
    for (const [key, lane] of [...this.#lanes]) {
      if (now - lane.startedAt >= lanePatienceMs) this.#next(key, lane)
    }
  }

  /** Ends everything without an outcome. Gives the deliveries that were not finished. */
  abandon(): ReadonlyArray<number> {
    const left = this.known
    const flying = [...this.#flying.values()]
    this.#lanes.clear()
    this.#known.clear()
    this.#busy.clear()
    this.#flying.clear()
    for (const { giveUp } of flying) giveUp()
    return left
  }

  #send(delivery: Claimed, key: string | undefined): void {
    const at = this.#now()
    if (key !== undefined) {
      const lane = this.#lanes.get(key) ?? { waiting: [], current: delivery.id, startedAt: at }
      lane.current = delivery.id
      lane.startedAt = at
      this.#lanes.set(key, lane)
    }
    const letter = letterOf(delivery, delivery, at, delivery.is_replay ? "replay" : undefined)
    const giveUp = this.#post(letter, (reply) => this.#arrived(delivery, key, at, reply))
    if (this.#known.has(delivery.id)) this.#flying.set(delivery.id, { at, giveUp })
  }

  #arrived(delivery: Claimed, key: string | undefined, at: number, reply: Reply): void {
    if (!this.#known.delete(delivery.id)) return
    this.#flying.delete(delivery.id)
    const before = this.#busy.get(delivery.webhook_id) ?? 1
    if (before === 1) this.#busy.delete(delivery.webhook_id)
    else this.#busy.set(delivery.webhook_id, before - 1)
    this.#landed({ delivery, at, reply })
    const lane = key === undefined ? undefined : this.#lanes.get(key)
    if (key !== undefined && lane?.current === delivery.id) this.#next(key, lane)
    if (before - 1 === Math.floor(this.perWebhook / 2)) this.#roomAgain()
  }

  #next(key: string, lane: Lane): void {
    const next = lane.waiting.shift()
    if (next === undefined) this.#lanes.delete(key)
    else this.#send(next, key)
  }
}

/** Only first attempts are in order: what failed does not hold back what comes later. */
const laneOf = ({ attempts, call_id, webhook_id }: Claimed): string | undefined =>
  attempts > 0 || call_id === null ? undefined : `${webhook_id} ${call_id}`
