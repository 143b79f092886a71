import { atOnce } from "@svc/api/Thread"
import { deliveryRequest } from "./DeliveryRequest.ts"
import type { ClaimedDelivery } from "./QueueRepo.ts"
import { type AttemptResult, attemptTimeoutMs, type Post } from "./ReceiverRequests.ts"

/** Maximum number of deliveries that a node holds. */
const maxHeld = 2048
/** Concurrent attempts per webhook. */
const maxAttempts = 32
/** Maximum held per webhook, and the lower maximum once a node is half full: hanging receivers must not use it up. */
const maxPerWebhook = 64
const maxPerWebhookWhenCrowded = 4
/** A fast receiver may hold this many times the deliveries that it completed between two ticks, up to a limit. */
const allowanceFactor = 8
const maxAllowance = 512
/** How long the next delivery of a call waits for an answer to the one before it, in milliseconds. */
const sequenceTimeoutMs = 100

/** An attempt that is over. */
export interface CompletedAttempt {
  readonly delivery: ClaimedDelivery
  /** When it started, in milliseconds. */
  readonly at: number
  readonly result: AttemptResult
}

/** The first attempts of the events of one call at one webhook, which start in order. */
interface CallSequence {
  readonly waiting: Array<ClaimedDelivery>
  /** The newest one that left the sequence, and when its attempt started: infinite while it waits for its webhook. */
  current: number
  startedAt: number
}

/** The share of the node's capacity that one webhook uses. */
interface WebhookLoad {
  held: number
  attempts: number
  /** Completed since the last tick. */
  completed: number
  /** Deliveries that may be held for it. */
  allowance: number
  /** Deliveries that wait because it has {@link maxAttempts}. */
  waiting: Array<ClaimedDelivery>
}

interface Attempt {
  readonly at: number
  readonly cancel: () => void
}

/**
 * The deliveries that this node holds: claimed, and not completed yet. Limits them in total and by webhook. The next
 * delivery of a call starts when the one before it was answered, or after 100 ms: receivers get events in order, and
 * one that hangs does not block the call's other events. Plain code without fibers, for thousands of attempts a second.
 */
export class InFlight {
  readonly #post: Post
  readonly #now: () => number
  readonly #onCompleted: (attempt: CompletedAttempt) => void
  readonly #onRoom: () => void
  /** By id of the delivery, in the order in which they started. */
  readonly #attempts = new Map<number, Attempt>()
  readonly #loads = new Map<number, WebhookLoad>()
  readonly #sequences = new Map<string, CallSequence>()
  readonly #held = new Set<number>()

  /** `now` in milliseconds; `onRoom` is called when a webhook that had no room has some again. */
  constructor(options: {
    readonly post: Post
    readonly now: () => number
    readonly onCompleted: (attempt: CompletedAttempt) => void
    readonly onRoom: () => void
  }) {
    this.#post = options.post
    this.#now = options.now
    this.#onCompleted = options.onCompleted
    this.#onRoom = options.onRoom
  }

  /** Deliveries held. */
  get size(): number {
    return this.#held.size
  }

  /** Ids of the deliveries held. */
  get ids(): ReadonlyArray<number> {
    return [...this.#held]
  }

  has(id: number): boolean {
    return this.#held.has(id)
  }

  /** Deliveries that may be claimed in total. */
  get room(): number {
    return maxHeld - this.#held.size
  }

  /** No delivery is held and no load is stored, so {@link tick} has nothing to do. */
  get isIdle(): boolean {
    return this.#held.size === 0 && this.#loads.size === 0
  }

  /** Deliveries that may be claimed for a webhook of which none are held. */
  get roomPerOther(): number {
    return this.#limit
  }

  /**
   * Deliveries that may be claimed for a webhook; 0 while it uses more than half: claiming a few at a time costs too
   * much.
   */
  roomOf(webhookId: number): number {
    const load = this.#loads.get(webhookId)
    return load === undefined ? this.#limit : this.#roomOf(load)
  }

  /** {@link roomOf} of every webhook that has a load. */
  get roomByWebhook(): ReadonlyMap<number, number> {
    return new Map([...this.#loads].map(([id, load]) => [id, this.#roomOf(load)]))
  }

  /** Holds all deliveries at once, then starts one after the other, and yields after each. */
  *starting(deliveries: ReadonlyArray<ClaimedDelivery>): Generator<void, void> {
    for (const delivery of deliveries) {
      this.#held.add(delivery.id)
      this.#loadOf(delivery).held++
    }
    for (const delivery of deliveries) {
      // Abandoned meanwhile.
      if (!this.#held.has(delivery.id)) continue
      const key = sequenceOf(delivery)
      const sequence = key === undefined ? undefined : this.#sequences.get(key)
      if (sequence !== undefined) sequence.waiting.push(delivery)
      else this.#leaveSequence(delivery, key)
      yield
    }
  }

  /** All of {@link starting} at once. */
  start(deliveries: ReadonlyArray<ClaimedDelivery>): void {
    atOnce(this.starting(deliveries))
  }

  /**
   * Cancels attempts that time out, advances calls whose attempt is slow, and adapts allowances. To be called
   * regularly.
   */
  tick(): void {
    const now = this.#now()
    for (const [id, { at, cancel }] of [...this.#attempts]) {
      if (now - at < attemptTimeoutMs) break
      if (this.#attempts.has(id)) cancel()
    }
    for (const [key, sequence] of [...this.#sequences]) {
      if (now - sequence.startedAt >= sequenceTimeoutMs) this.#advance(key, sequence)
    }
    for (const [webhook_id, load] of [...this.#loads]) {
      load.allowance = Math.min(maxAllowance, Math.max(maxPerWebhook, load.completed * allowanceFactor))
      // A load without deliveries is kept only for its allowance.
      if (load.held === 0 && load.completed === 0) this.#loads.delete(webhook_id)
      load.completed = 0
    }
  }

  /** Cancels all attempts without reporting them. Returns the ids of the deliveries that were held. */
  abandon(): ReadonlyArray<number> {
    const ids = this.ids
    const attempts = [...this.#attempts.values()]
    this.#sequences.clear()
    this.#held.clear()
    this.#loads.clear()
    this.#attempts.clear()
    for (const { cancel } of attempts) cancel()
    return ids
  }

  get #limit(): number {
    return this.#held.size < maxHeld / 2 ? maxPerWebhook : maxPerWebhookWhenCrowded
  }

  #roomOf(load: WebhookLoad): number {
    // A receiver with a raised allowance answers fast, so it does not fill up the node.
    const limit = load.allowance > maxPerWebhook ? load.allowance : this.#limit
    return load.held > limit / 2 ? 0 : limit - load.held
  }

  #loadOf({ webhook_id }: ClaimedDelivery): WebhookLoad {
    const known = this.#loads.get(webhook_id)
    if (known !== undefined) return known
    const load = { held: 0, attempts: 0, completed: 0, allowance: maxPerWebhook, waiting: [] }
    this.#loads.set(webhook_id, load)
    return load
  }

  /** Sends the next delivery of a call, or queues it while its webhook has no room. */
  #leaveSequence(delivery: ClaimedDelivery, key: string | undefined): void {
    if (key !== undefined) {
      const sequence = this.#sequences.get(key)
      if (sequence === undefined)
        this.#sequences.set(key, { waiting: [], current: delivery.id, startedAt: Number.POSITIVE_INFINITY })
      else {
        sequence.current = delivery.id
        sequence.startedAt = Number.POSITIVE_INFINITY
      }
    }
    const load = this.#loadOf(delivery)
    if (load.attempts >= maxAttempts) load.waiting.push(delivery)
    else this.#send(delivery, load)
  }

  #send(delivery: ClaimedDelivery, load: WebhookLoad): void {
    const at = this.#now()
    const key = sequenceOf(delivery)
    const sequence = key === undefined ? undefined : this.#sequences.get(key)
    if (sequence?.current === delivery.id) sequence.startedAt = at
    load.attempts++
    const request = deliveryRequest(delivery, delivery, at, delivery.is_replay ? "replay" : undefined)
    const cancel = this.#post(request, (result) => this.#complete(delivery, key, at, result))
    if (this.#held.has(delivery.id)) this.#attempts.set(delivery.id, { at, cancel })
  }

  #complete(delivery: ClaimedDelivery, key: string | undefined, at: number, result: AttemptResult): void {
    if (!this.#held.delete(delivery.id)) return
    this.#attempts.delete(delivery.id)
    const load = this.#loadOf(delivery)
    const hadRoom = this.#roomOf(load) > 0
    load.held--
    load.attempts--
    load.completed++
    this.#onCompleted({ delivery, at, result })
    const sequence = key === undefined ? undefined : this.#sequences.get(key)
    if (key !== undefined && sequence?.current === delivery.id) this.#advance(key, sequence)
    const next = load.attempts < maxAttempts ? load.waiting.shift() : undefined
    if (next !== undefined) this.#send(next, load)
    if (!hadRoom && this.#roomOf(load) > 0) this.#onRoom()
  }

  #advance(key: string, sequence: CallSequence): void {
    const next = sequence.waiting.shift()
    if (next === undefined) this.#sequences.delete(key)
    else this.#leaveSequence(next, key)
  }
}

/** Only first attempts are ordered: a retry does not hold back later events. */
const sequenceOf = ({ attempts, call_id, webhook_id }: ClaimedDelivery): string | undefined =>
  attempts > 0 || call_id === null ? undefined : `${webhook_id} ${call_id}`
