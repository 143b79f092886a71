import { Deferred, Effect, FiberId } from "effect"

/** How long a start that was reserved may wait for its socket, in ms, and then for the engine. */
const socketMs = 5000
const engineMs = 60_000

/** A call that starts, from the request for its socket until the engine has admitted or refused it. */
export interface Start {
  /** The engine has decided. The first call counts. */
  readonly decide: () => void
}

/** The starts of one link. */
interface Link {
  /** Those that are undecided, and when each is given up. */
  readonly undecided: Map<Start, number>
  /** Those of them that have no socket yet, the oldest first. */
  readonly reserved: Set<Start>
  /** How many were decided. */
  decided: number
  /** Completes with the next decision. */
  next: Deferred.Deferred<void>
  /** How many requests use this link. */
  readers: number
}

/**
 * The calls that are starting with each link. A call counts only when the engine admits it, after its socket was accepted.
 * So this class accepts no more sockets at once than calls are left, and the others are refused before the upgrade. Sockets
 * of other nodes are not known here; the engine refuses their calls.
 */
export class LinkStarts {
  readonly #links = new Map<string, Link>()
  readonly #now: () => number

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Reserves a start while the link is `open`, and completes with undefined; waits while it depends on others that are
   * undecided. Else completes with the state. `callsLeft`: how many calls can start, those that are undecided included.
   */
  reserve<State extends string>(
    token: string,
    state: Effect.Effect<State>,
    callsLeft: Effect.Effect<number>
  ): Effect.Effect<Exclude<State, "open"> | undefined> {
    const attempt = (link: Link): Effect.Effect<Exclude<State, "open"> | undefined> =>
      Effect.gen(this, function* () {
        while (true) {
          const before = link.decided
          const found = yield* state
          // The compiler does not narrow a type parameter.
          if (found !== "open") return found as Exclude<State, "open">
          if (link.undecided.size === 0 && link.decided === before) break
          const since = link.decided
          const left = yield* callsLeft
          // Calls that were admitted meanwhile may be missing from the count.
          if (left - (link.decided - since) > link.undecided.size) break
          if (link.undecided.size > 0) yield* Deferred.await(link.next)
        }
        link.reserved.add(this.#begin(token, link, socketMs))
        return undefined
      })
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const link = this.#linkOf(token)
        link.readers++
        return link
      }),
      attempt,
      (link) =>
        Effect.sync(() => {
          link.readers--
          this.#forget(token, link)
        })
    )
  }

  /** The start of a socket that was accepted. */
  accepted(token: string): Start {
    const link = this.#linkOf(token)
    const [start] = link.reserved
    if (start === undefined) return this.#begin(token, link, engineMs)
    link.reserved.delete(start)
    link.undecided.set(start, this.#now() + engineMs)
    return start
  }

  /** Gives up starts whose socket or decision has not come; called a few times a second. */
  check(): void {
    const now = this.#now()
    for (const { undecided } of this.#links.values()) {
      for (const [start, until] of undecided) if (now >= until) start.decide()
    }
  }

  #linkOf(token: string): Link {
    const known = this.#links.get(token)
    if (known !== undefined) return known
    const link = {
      undecided: new Map<Start, number>(),
      reserved: new Set<Start>(),
      decided: 0,
      next: Deferred.unsafeMake<void>(FiberId.none),
      readers: 0
    }
    this.#links.set(token, link)
    return link
  }

  #begin(token: string, link: Link, waitMs: number): Start {
    const start: Start = {
      decide: () => {
        if (!link.undecided.delete(start)) return
        link.reserved.delete(start)
        link.decided++
        Deferred.unsafeDone(link.next, Effect.void)
        link.next = Deferred.unsafeMake(FiberId.none)
        this.#forget(token, link)
      }
    }
    link.undecided.set(start, this.#now() + waitMs)
    return start
  }

  #forget(token: string, link: Link): void {
    if (link.readers === 0 && link.undecided.size === 0) this.#links.delete(token)
  }
}
