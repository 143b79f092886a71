import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { describe } from "vitest"
import { admit, type Breaker, initial, type Outcome, openMs, settle, threshold } from "../../src/fence/Breaker.ts"

const failed: Outcome = { _tag: "Failed", reason: "timeout" }
const succeeded: Outcome = { _tag: "Succeeded" }
const settleAll = (breaker: Breaker, outcomes: ReadonlyArray<Outcome>, now = 0): Breaker =>
  outcomes.reduce((state, outcome) => settle(state, outcome, now), breaker)

const opened = settleAll(initial, Array(threshold).fill(failed))

describe("the circuit breaker", () => {
  it("opens after five failures in a row, with the last reason", () => {
    expect(settleAll(initial, Array(threshold - 1).fill(failed))._tag).toBe("Closed")
    expect(opened).toEqual({ _tag: "Open", until: openMs, reason: "timeout" })
  })

  it("forgets failures at a success, and counts neither interruptions nor refused requests", () => {
    const four = Array<Outcome>(threshold - 1).fill(failed)
    expect(settleAll(initial, [...four, succeeded, ...four])._tag).toBe("Closed")
    expect(settleAll(initial, [...four, { _tag: "Abandoned" }, { _tag: "Answered" }])._tag).toBe("Closed")
  })

  it("refuses for ten seconds and then lets one call through", () => {
    expect(admit(opened, openMs - 1)).toEqual([opened, false])
    const [trying, admitted] = admit(opened, openMs)
    expect(admitted).toBe(true)
    expect(admit(trying, openMs)[1]).toBe(false)
  })

  it("closes when the trial succeeds, opens again when it fails, and stays due when it is interrupted", () => {
    const [trying] = admit(opened, openMs)
    expect(settle(trying, succeeded, openMs)).toEqual(initial)
    expect(settle(trying, failed, openMs)).toEqual({ _tag: "Open", until: 2 * openMs, reason: "timeout" })
    expect(admit(settle(trying, { _tag: "Abandoned" }, openMs), openMs)[1]).toBe(true)
  })

  it("lets calls through after an answer that proves nothing, and opens at the next failure", () => {
    const [trying] = admit(opened, openMs)
    const probation = settle(trying, { _tag: "Answered" }, openMs)
    expect(admit(probation, openMs)[1]).toBe(true)
    expect(settle(probation, failed, openMs)._tag).toBe("Open")
  })

  it("ignores late news of calls from before it opened", () => {
    expect(settle(opened, succeeded, 1)).toBe(opened)
    expect(settle(opened, failed, 1)).toBe(opened)
  })

  it("never refuses for longer than ten seconds, whatever happens, as long as trials are settled", () => {
    const outcomes = fc.constantFrom<Outcome>(failed, succeeded, { _tag: "Answered" }, { _tag: "Abandoned" })
    fc.assert(
      fc.property(fc.array(fc.tuple(outcomes, fc.nat(5000)), { maxLength: 60 }), (steps) => {
        let [state, now]: [Breaker, number] = [initial, 0]
        for (const [outcome, wait] of steps) {
          now += wait
          const [next, admitted] = admit(state, now)
          state = admitted ? settle(next, outcome, now) : next
        }
        expect(admit(state, now + openMs)[1]).toBe(true)
      })
    )
  })
})
