import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { describe } from "vitest"
import {
  admit,
  type CircuitBreaker,
  initial,
  type Outcome,
  openMs,
  settle,
  silentMs,
  threshold
} from "../../src/fence/CircuitBreaker.ts"

const failed: Outcome = { _tag: "Failed", reason: "timeout" }
const succeeded: Outcome = { _tag: "Succeeded" }
const settleAll = (breaker: CircuitBreaker, outcomes: ReadonlyArray<Outcome>, now = 0): CircuitBreaker =>
  outcomes.reduce((state, outcome) => settle(state, outcome, now), breaker)

const opened = settleAll(initial, Array(threshold).fill(failed))

describe("the circuit breaker", () => {
  it("the circuit opens after five consecutive failures and keeps the last reason", () => {
    expect(settleAll(initial, Array(threshold - 1).fill(failed))._tag).toBe("Closed")
    expect(opened).toEqual({ _tag: "Open", until: openMs, reason: "timeout", silences: 0 })
  })

  it("a success resets the failure count, and interruptions and rejected requests do not count", () => {
    const four = Array<Outcome>(threshold - 1).fill(failed)
    expect(settleAll(initial, [...four, succeeded, ...four])._tag).toBe("Closed")
    expect(settleAll(initial, [...four, { _tag: "Abandoned" }, { _tag: "Answered" }])._tag).toBe("Closed")
  })

  it("an open circuit refuses calls for ten seconds and then admits one trial call", () => {
    expect(admit(opened, openMs - 1)).toEqual([opened, false])
    const [trying, admitted] = admit(opened, openMs)
    expect(admitted).toBe(true)
    expect(admit(trying, openMs)[1]).toBe(false)
  })

  it("a successful trial closes the circuit, a failed one opens it again, and an interrupted one is repeated", () => {
    const [trying] = admit(opened, openMs)
    expect(settle(trying, succeeded, openMs)).toEqual(initial)
    expect(settle(trying, failed, openMs)).toEqual({ _tag: "Open", until: 2 * openMs, reason: "timeout", silences: 0 })
    expect(admit(settle(trying, { _tag: "Abandoned" }, openMs), openMs)[1]).toBe(true)
  })

  it("after a trial that was only answered, calls are admitted and the next failure opens the circuit", () => {
    const [trying] = admit(opened, openMs)
    const probation = settle(trying, { _tag: "Answered" }, openMs)
    expect(admit(probation, openMs)[1]).toBe(true)
    expect(settle(probation, failed, openMs)._tag).toBe("Open")
  })

  it("one silent call opens the circuit, and silent trials for longer each time, up to a minute", () => {
    const silent: Outcome = { _tag: "Silent", reason: "said nothing" }
    let [state, now] = [settle(initial, silent, 0), 0]
    const waits: Array<number> = []
    for (let trial = 0; trial < 5; trial++) {
      if (state._tag !== "Open") throw new Error(state._tag)
      waits.push(state.until - now)
      expect(admit(state, state.until - 1)[1]).toBe(false)
      now = state.until
      state = settle(admit(state, now)[0], silent, now)
    }
    expect(waits).toEqual([openMs, 2 * openMs, 4 * openMs, silentMs, silentMs])
    if (state._tag !== "Open") throw new Error(state._tag)
    const [trying] = admit(state, state.until)
    expect(settle(trying, succeeded, state.until)).toEqual(initial)
    expect(settle(trying, failed, state.until)).toMatchObject({ until: state.until + openMs, silences: 0 })
  })

  it("outcomes of calls from before the circuit opened are ignored", () => {
    expect(settle(opened, succeeded, 1)).toBe(opened)
    expect(settle(opened, failed, 1)).toBe(opened)
  })

  it("no sequence of outcomes keeps the circuit open for more than a minute", () => {
    const outcomes = fc.constantFrom<Outcome>(
      failed,
      succeeded,
      { _tag: "Answered" },
      { _tag: "Silent", reason: "" },
      { _tag: "Abandoned" }
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(outcomes, fc.nat(5000)), { maxLength: 60 }), (steps) => {
        let [state, now]: [CircuitBreaker, number] = [initial, 0]
        for (const [outcome, wait] of steps) {
          now += wait
          const [next, admitted] = admit(state, now)
          state = admitted ? settle(next, outcome, now) : next
        }
        expect(admit(state, now + silentMs)[1]).toBe(true)
      })
    )
  })
})
