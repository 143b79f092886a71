/**
 * A circuit breaker as a pure state machine. Times are milliseconds.
 *
 * | state    | admit                              | succeeded | answered        | failed                              | abandoned |
 * |----------|------------------------------------|-----------|-----------------|-------------------------------------|-----------|
 * | Closed   | yes                                | Closed 0  | same            | Closed n+1, Open at the threshold   | same      |
 * | Open     | no; after `until` yes → HalfOpen   | same      | same            | same                                | same      |
 * | HalfOpen | no: one trial at a time            | Closed 0  | Closed, on probation | Open                           | Open, due |
 *
 * `answered`: the provider responded, but this does not prove that it works (a session opened; a request was refused as
 * wrong). On probation the next failure opens the circuit again. `abandoned`: interrupted, which says nothing about the provider.
 */
export type Breaker =
  | { readonly _tag: "Closed"; readonly failures: number; readonly reason: string }
  | { readonly _tag: "Open"; readonly until: number; readonly reason: string }
  | { readonly _tag: "HalfOpen"; readonly reason: string }

/** Failures in a row that open the circuit. */
export const threshold = 5
/** How long calls fail fast before one is tried again, in milliseconds. */
export const openMs = 10_000

export type Outcome =
  | { readonly _tag: "Succeeded" }
  | { readonly _tag: "Answered" }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Abandoned" }

export const initial: Breaker = { _tag: "Closed", failures: 0, reason: "" }

/** Whether a call may be made now, and the state after. */
export const admit = (breaker: Breaker, now: number): readonly [Breaker, boolean] => {
  if (breaker._tag === "Closed") return [breaker, true]
  if (breaker._tag === "HalfOpen" || now < breaker.until) return [breaker, false]
  return [{ _tag: "HalfOpen", reason: breaker.reason }, true]
}

/** The state after a call that was admitted has ended. Late news of calls from before the circuit opened changes nothing. */
export const settle = (breaker: Breaker, outcome: Outcome, now: number): Breaker => {
  if (breaker._tag === "Open") return breaker
  const trial = breaker._tag === "HalfOpen"
  switch (outcome._tag) {
    case "Succeeded":
      return initial
    case "Answered":
      return trial ? { _tag: "Closed", failures: threshold - 1, reason: breaker.reason } : breaker
    case "Abandoned":
      return trial ? { _tag: "Open", until: now, reason: breaker.reason } : breaker
    case "Failed": {
      const failures = trial ? threshold : breaker.failures + 1
      return failures >= threshold
        ? { _tag: "Open", until: now + openMs, reason: outcome.reason }
        : { _tag: "Closed", failures, reason: outcome.reason }
    }
  }
}
