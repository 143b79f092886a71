import { Duration, Effect, Option } from "effect"

/** The longest that anything here is waited for, unless the test says otherwise. */
export const patience = Duration.seconds(30)

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

/** What came in from the other side, in order; tests wait for the piece that they need. */
export class Inbox<A> {
  readonly #name: string
  readonly #all: Array<A> = []
  readonly #watchers = new Set<() => void>()
  #seen = 0
  #closed: string | undefined

  /** `name` stands in the message of a wait that was in vain. */
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

  /** Nothing more will come: whoever still waits fails at once. */
  close(reason: string): void {
    this.#closed ??= reason
    this.#wake()
  }

  /** The first item that fits, of those that came after the last one that `next` gave. */
  next<B extends A>(what: string, fits: (item: A) => item is B, within?: Duration.DurationInput): Effect.Effect<B>
  next(what: string, fits: (item: A) => boolean, within?: Duration.DurationInput): Effect.Effect<A>
  next(what: string, fits: (item: A) => boolean, within: Duration.DurationInput = patience): Effect.Effect<A> {
    return this.#wait(what, within, () => {
      const index = this.#all.findIndex((item, at) => at >= this.#seen && fits(item))
      if (index >= 0) this.#seen = index + 1
      return this.#all[index]
    })
  }

  /** The first item at all that fits, whether or not it came before. */
  find(what: string, fits: (item: A) => boolean, within: Duration.DurationInput = patience): Effect.Effect<A> {
    return this.#wait(what, within, () => this.#all.find(fits))
  }

  /** Completes when the other side has closed. */
  readonly closed: Effect.Effect<string> = Effect.suspend(() =>
    this.#await(
      () => this.#closed,
      patience,
      () => `${this.#name} was not closed; it got ${show(this.#all)}`
    )
  )

  #wait(what: string, within: Duration.DurationInput, look: () => A | undefined): Effect.Effect<A> {
    const inVain = () => `${this.#name} waited in vain for ${what}; it got ${show(this.#all.slice(this.#seen))}`
    const dead = (): Error | undefined =>
      this.#closed === undefined ? undefined : new Error(`${inVain()}, and then: ${this.#closed}`)
    return this.#await(look, within, inVain, dead)
  }

  #await<B>(
    look: () => B | undefined,
    within: Duration.DurationInput,
    inVain: () => string,
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
    }).pipe(Effect.timeoutFail({ duration: within, onTimeout: () => new Error(inVain()) }), Effect.orDie)
  }

  #wake(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** Looks again and again until what it sees is good; for what can only be asked, as a record or a probe. */
export const eventually = <A, E, R>(
  what: string,
  look: Effect.Effect<A, E, R>,
  good: (seen: A) => boolean,
  within: Duration.DurationInput = patience
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let last: unknown = "nothing"
    const inVain = () => Effect.die(new Error(`${what}: waited in vain; last seen ${show(last)}`))
    const attempt: Effect.Effect<A, E, R> = Effect.flatMap(look, (seen) => {
      last = seen
      return good(seen) ? Effect.succeed(seen) : Effect.zipRight(Effect.sleep("30 millis"), attempt)
    })
    return attempt.pipe(
      Effect.timeoutOption(within),
      Effect.flatMap(Option.match({ onNone: inVain, onSome: Effect.succeed }))
    )
  })
