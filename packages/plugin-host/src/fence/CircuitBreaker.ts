/**
 * A circuit breaker as a pure state machine. Times are milliseconds.
 *
 * | state    | admit                              | succeeded | answered        | failed                              | silent | abandoned |
 * |----------|------------------------------------|-----------|-----------------|-------------------------------------|--------|-----------|
 * | Closed   | yes                                | Closed 0  | same            | Closed n+1, Open at the threshold   | Open   | same      |
 * | Open     | no; after `until` yes → HalfOpen   | same      | same            | same                                | same   | same      |
 * | HalfOpen | no: one trial at a time            | Closed 0  | Closed, on probation | Open                           | Open, for longer | Open, due |
 *
 * `answered`: the provider responded, which does not prove that it works (a session opened; it rejected an invalid
 * request). On probation the next failure opens the circuit again. `silent`: it was asked and did nothing until a time
 * limit; one caller waited for that, so that the next shall not. `abandoned`: the call was interrupted, so its outcome is
 * unknown.
 */
export type CircuitBreaker =
  | { readonly _tag: "Closed"; readonly failures: number; readonly reason: string }
  | { readonly _tag: "Open"; readonly until: number; readonly reason: string; readonly silences: number }
  | { readonly _tag: "HalfOpen"; readonly reason: string; readonly silences: number }

/** Consecutive failures that open the circuit. */
export const threshold = 5
/** Milliseconds for which calls fail at once before a trial call is admitted. */
export const openMs = 10_000
/** As {@link openMs}, for a provider whose trial calls are silent again and again: each of them costs a caller a long wait. */
export const silentMs = 60_000

/** How an admitted call ended. */
export type Outcome =
  | { readonly _tag: "Succeeded" }
  | { readonly _tag: "Answered" }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Silent"; readonly reason: string }
  | { readonly _tag: "Abandoned" }

export const initial: CircuitBreaker = { _tag: "Closed", failures: 0, reason: "" }

/** The next state, and whether a call may be made at `now`. */
export const admit = (breaker: CircuitBreaker, now: number): readonly [CircuitBreaker, boolean] => {
  if (breaker._tag === "Closed") return [breaker, true]
  if (breaker._tag === "HalfOpen" || now < breaker.until) return [breaker, false]
  return [{ _tag: "HalfOpen", reason: breaker.reason, silences: breaker.silences }, true]
}

/** The state after an admitted call has ended. Calls from before the circuit opened change nothing. */
export const settle = (breaker: CircuitBreaker, outcome: Outcome, now: number): CircuitBreaker => {
  if (breaker._tag === "Open") return breaker
  const trial = breaker._tag === "HalfOpen"
  switch (outcome._tag) {
    case "Succeeded":
      return initial
    case "Answered":
      return trial ? { _tag: "Closed", failures: threshold - 1, reason: breaker.reason } : breaker
    case "Abandoned":
      return trial ? { ...breaker, _tag: "Open", until: now } : breaker
    case "Silent": {
      const silences = trial ? breaker.silences : 0
      const open = Math.min(openMs * 2 ** silences, silentMs)
      return { _tag: "Open", until: now + open, reason: outcome.reason, silences: silences + 1 }
    }
    case "Failed": {
      const failures = trial ? threshold : breaker.failures + 1
      return failures >= threshold
        ? { _tag: "Open", until: now + openMs, reason: outcome.reason, silences: 0 }
        : { _tag: "Closed", failures, reason: outcome.reason }
    }
  }
}
