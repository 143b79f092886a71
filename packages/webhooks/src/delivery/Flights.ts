import { letterOf } from "./Letters.ts"
import type { Claimed } from "./QueueRepo.ts"
import { attemptMs, type Letter, type Reply } from "./Receivers.ts"

/** Deliveries that a node has taken at once. */
const most = 2048
/** Requests under way to one webhook at once. */
const mostFlying = 32
/** What a webhook gets of both once half of all is taken: a few receivers that hang do not take what others need. */
const whenCrowded = 4
/** Deliveries that are taken for a webhook at once; one that answers fast gets so many times what it took between two sweeps. */
const mostTaken = 64
const ahead = 8
const mostAhead = 512
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
  /** The newest that left the lane, and when its request started; it may still wait for its webhook. */
  current: number
  startedAt: number
}

/** What a webhook has of the node. */
interface Gate {
  taken: number
  flying: number
  /** Since the last sweep. */
  landed: number
  /** How many may be taken for it. */
  allowance: number
  waiting: Array<Claimed>
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
  readonly #gates = new Map<number, Gate>()
  readonly #lanes = new Map<string, Lane>()
  readonly #known = new Set<number>()

  /** `now` in milliseconds; `roomAgain` is called when a webhook has room for a lot again. */
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

  has(id: number): boolean {
    return this.#known.has(id)
  }

  get room(): number {
    return most - this.#known.size
  }

  /** Whether nothing is taken, and no webhook is remembered. */
  get isIdle(): boolean {
    return this.#known.size === 0 && this.#gates.size === 0
  }

  /** How many may be taken for a webhook that has none. */
  get roomForOthers(): number {
    return this.#limit
  }

  /** How many more may be taken for a webhook. None for one that is more than half full: a few at a time cost too much. */
  roomOf(webhookId: number): number {
    const gate = this.#gates.get(webhookId)
    return gate === undefined ? this.#limit : this.#roomOf(gate)
  }

  /** The same of all webhooks that have any. */
  get roomLeft(): ReadonlyMap<number, number> {
    return new Map([...this.#gates].map(([id, gate]) => [id, this.#roomOf(gate)]))
  }

  start(deliveries: ReadonlyArray<Claimed>): void {
    for (const delivery of deliveries) {
      this.#known.add(delivery.id)
      this.#gateOf(delivery).taken++
      const key = laneOf(delivery)
      const lane = key === undefined ? undefined : this.#lanes.get(key)
      if (lane !== undefined) lane.waiting.push(delivery)
      else this.#enter(delivery, key)
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
    for (const [webhook_id, gate] of [...this.#gates]) {
      gate.allowance = Math.min(mostAhead, Math.max(mostTaken, gate.landed * ahead))
      // One that has nothing is remembered only for how fast it was.
      if (gate.taken === 0 && gate.landed === 0) this.#gates.delete(webhook_id)
      gate.landed = 0
    }
  }

  /** Ends everything without an outcome. Gives the deliveries that were not finished. */
  abandon(): ReadonlyArray<number> {
    const left = this.known
    const flying = [...this.#flying.values()]
    this.#lanes.clear()
    this.#known.clear()
    this.#gates.clear()
    this.#flying.clear()
    for (const { giveUp } of flying) giveUp()
    return left
  }

  get #limit(): number {
    return this.#known.size < most / 2 ? mostTaken : whenCrowded
  }

  #roomOf(gate: Gate): number {
    // One that answers fast is not what crowds us.
    const limit = gate.allowance > mostTaken ? gate.allowance : this.#limit
    return gate.taken > limit / 2 ? 0 : limit - gate.taken
  }

  #gateOf({ webhook_id }: Claimed): Gate {
    const known = this.#gates.get(webhook_id)
    if (known !== undefined) return known
    const gate = { taken: 0, flying: 0, landed: 0, allowance: mostTaken, waiting: [] }
    this.#gates.set(webhook_id, gate)
    return gate
  }

  /** Leaves its lane: is sent, or waits for its webhook. */
  #enter(delivery: Claimed, key: string | undefined): void {
    if (key !== undefined) {
      const lane = this.#lanes.get(key)
      if (lane === undefined)
        this.#lanes.set(key, { waiting: [], current: delivery.id, startedAt: Number.POSITIVE_INFINITY })
      else {
        lane.current = delivery.id
        lane.startedAt = Number.POSITIVE_INFINITY
      }
    }
    const gate = this.#gateOf(delivery)
    if (gate.flying >= mostFlying) gate.waiting.push(delivery)
    else this.#send(delivery, gate)
  }

  #send(delivery: Claimed, gate: Gate): void {
    const at = this.#now()
    const key = laneOf(delivery)
    const lane = key === undefined ? undefined : this.#lanes.get(key)
    if (lane?.current === delivery.id) lane.startedAt = at
    gate.flying++
    const letter = letterOf(delivery, delivery, at, delivery.is_replay ? "replay" : undefined)
    const giveUp = this.#post(letter, (reply) => this.#arrived(delivery, key, at, reply))
    if (this.#known.has(delivery.id)) this.#flying.set(delivery.id, { at, giveUp })
  }

  #arrived(delivery: Claimed, key: string | undefined, at: number, reply: Reply): void {
    if (!this.#known.delete(delivery.id)) return
    this.#flying.delete(delivery.id)
    const gate = this.#gateOf(delivery)
    const hadRoom = this.#roomOf(gate) > 0
    gate.taken--
    gate.flying--
    gate.landed++
    this.#landed({ delivery, at, reply })
    const lane = key === undefined ? undefined : this.#lanes.get(key)
    if (key !== undefined && lane?.current === delivery.id) this.#next(key, lane)
    const next = gate.flying < mostFlying ? gate.waiting.shift() : undefined
    if (next !== undefined) this.#send(next, gate)
    if (!hadRoom && this.#roomOf(gate) > 0) this.#roomAgain()
  }

  #next(key: string, lane: Lane): void {
    const next = lane.waiting.shift()
    if (next === undefined) this.#lanes.delete(key)
    else this.#enter(next, key)
  }
}

/** Only first attempts are in order: what failed does not hold back what comes later. */
const laneOf = ({ attempts, call_id, webhook_id }: Claimed): string | undefined =>
  attempts > 0 || call_id === null ? undefined : `${webhook_id} ${call_id}`
