import { Clock, Effect, Exit } from "effect"

/** Characters of a body that are kept. */
const keptCharacters = 16_384

/** One request to an agent's server, and what came of it; for people who look into the call. */
export interface CallbackExchange {
  readonly event: string
  /** Unix milliseconds. */
  readonly started_at: number
  /** Milliseconds until the answer was there, or the request was given up. */
  readonly duration_ms: number
  /** The answer's status; null when there was none. */
  readonly status: number | null
  /** Why there is no usable answer, or null. */
  readonly error: string | null
  /** Bodies as they were sent and received, cut to {@link keptCharacters}. */
  readonly request: string
  readonly response: string | null
}

/** What is known of an exchange while it goes on; filled by who carries it out. */
export interface ExchangeTrace {
  request: string
  status: number | null
  response: string | null
}

/** A database takes no NUL, and no halves of characters, which a cut also makes. */
const kept = (body: string): string =>
  (body.length <= keptCharacters ? body : `${body.slice(0, keptCharacters)}… (${body.length} characters)`).replace(
    /[\0\p{Surrogate}]/gu,
    "\uFFFD"
  )

/** Tells of an exchange when it is over, however it ended. */
export const traced = <A, E extends { readonly reason: string }>(
  event: string,
  carryOut: (trace: ExchangeTrace) => Effect.Effect<A, E>,
  tell: (exchange: CallbackExchange) => void = () => {}
): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, (started_at) => {
    const trace: ExchangeTrace = { request: "", status: null, response: null }
    return carryOut(trace).pipe(
      Effect.onExit((exit) =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          tell({
            event,
            started_at,
            duration_ms: now - started_at,
            status: trace.status,
            error: errorOf(exit),
            request: kept(trace.request),
            response: trace.response === null ? null : kept(trace.response)
          })
        )
      )
    )
  })

const errorOf = (exit: Exit.Exit<unknown, { readonly reason: string }>): string | null =>
  Exit.match(exit, {
    onSuccess: () => null,
    onFailure: (cause) => (cause._tag === "Fail" ? cause.error.reason : "given up")
  })
