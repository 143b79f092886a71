import { Duration, Effect, Option } from "effect"

/** The longest wait, unless a test gives another. */
export const defaultTimeout = Duration.seconds(30)

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

/** Messages received, in order; tests wait for the ones they need. */
export class Inbox<A> {
  readonly #name: string
  readonly #all: Array<A> = []
  readonly #watchers = new Set<() => void>()
  #seen = 0
  #closed: string | undefined

  /** `name` is used in the message of a timeout. */
  constructor(name: string) {
    this.#name = name
  }

  get all(): ReadonlyArray<A> {
    return this.#all
  }

  push(item: A): void {
    this.#all.push(item)
    this.#wake()
  }

  /** Nothing more will arrive: pending waits fail at once. */
  close(reason: string): void {
    this.#closed ??= reason
    this.#wake()
  }

  /** The first matching item after the last one that `next` returned. */
  next<B extends A>(what: string, fits: (item: A) => item is B, within?: Duration.DurationInput): Effect.Effect<B>
  next(what: string, fits: (item: A) => boolean, within?: Duration.DurationInput): Effect.Effect<A>
  next(what: string, fits: (item: A) => boolean, within: Duration.DurationInput = defaultTimeout): Effect.Effect<A> {
    return this.#wait(what, within, () => {
      const index = this.#all.findIndex((item, at) => at >= this.#seen && fits(item))
      if (index >= 0) this.#seen = index + 1
      return this.#all[index]
    })
  }

  /** The first matching item, also one received before. */
  find(what: string, fits: (item: A) => boolean, within: Duration.DurationInput = defaultTimeout): Effect.Effect<A> {
    return this.#wait(what, within, () => this.#all.find(fits))
  }

  /** Completes when the other side has closed. */
  readonly closed: Effect.Effect<string> = Effect.suspend(() =>
    this.#await(
      () => this.#closed,
      defaultTimeout,
      () => `${this.#name} was not closed; it got ${show(this.#all)}`
    )
  )

  #wait(what: string, within: Duration.DurationInput, look: () => A | undefined): Effect.Effect<A> {
    const timedOut = () => `${this.#name} timed out waiting for ${what}; it got ${show(this.#all.slice(this.#seen))}`
    const dead = (): Error | undefined =>
      this.#closed === undefined ? undefined : new Error(`${timedOut()}, and then: ${this.#closed}`)
    return this.#await(look, within, timedOut, dead)
  }

  #await<B>(
    look: () => B | undefined,
    within: Duration.DurationInput,
    timedOut: () => string,
    dead: () => Error | undefined = () => undefined
  ): Effect.Effect<B> {
    return Effect.async<B>((resume) => {
      const watcher = () => {
        const found = look()
        const error = found === undefined ? dead() : undefined
        if (found === undefined && error === undefined) return
        this.#watchers.delete(watcher)
        resume(found === undefined ? Effect.die(error) : Effect.succeed(found))
      }
      this.#watchers.add(watcher)
      watcher()
      return Effect.sync(() => this.#watchers.delete(watcher))
    }).pipe(Effect.timeoutFail({ duration: within, onTimeout: () => new Error(timedOut()) }), Effect.orDie)
  }

  #wake(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** Polls until the result is good; for what can only be requested, such as a record or a probe. */
export const eventually = <A, E, R>(
  what: string,
  look: Effect.Effect<A, E, R>,
  good: (seen: A) => boolean,
  within: Duration.DurationInput = defaultTimeout
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let last: unknown = "nothing"
    const timedOut = () => Effect.die(new Error(`${what}: timed out; last seen ${show(last)}`))
    const attempt: Effect.Effect<A, E, R> = Effect.flatMap(look, (seen) => {
      last = seen
      return good(seen) ? Effect.succeed(seen) : Effect.zipRight(Effect.sleep("30 millis"), attempt)
    })
    return attempt.pipe(
      Effect.timeoutOption(within),
      Effect.flatMap(Option.match({ onNone: timedOut, onSome: Effect.succeed }))
    )
  })
