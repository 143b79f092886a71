import { describe, expect, it } from "@effect/vitest"
import { InFlight } from "../src/delivery/InFlight.ts"
import { type AttemptResult, timedOut } from "../src/delivery/ReceiverRequests.ts"
import { delivery } from "./ClaimedDeliveries.ts"

const deliveries = (count: number, webhook_id: number) => Array.from({ length: count }, () => delivery(webhook_id))

const setUp = (now = 0) => {
  const clock = { now }
  const sent: Array<string> = []
  const completed: Array<number> = []
  const answers: Array<(result: AttemptResult) => void> = []
  let cancels = 0
  const inFlight = new InFlight({
    now: () => clock.now,
    post: (request, done) => {
      sent.push(JSON.parse(request.body).id)
      answers.push(done)
      return () => {
        cancels++
        done(timedOut)
      }
    },
    onCompleted: (attempt) => void completed.push(attempt.delivery.id),
    onRoom: () => undefined
  })
  /** Answers the attempts that have started. */
  const answerAll = () => {
    for (const done of answers.splice(0)) done({ status_code: 200, error: null })
  }
  return { inFlight, clock, sent, completed, answers, answerAll, cancels: () => cancels }
}

describe("InFlight limits", () => {
  it("isIdle is false while deliveries are held, or a load is remembered for a tick after the last answer", () => {
    const { answerAll, inFlight } = setUp()
    expect(inFlight.isIdle).toBe(true)
    inFlight.start([delivery(1)])
    expect(inFlight.isIdle).toBe(false)
    inFlight.tick()
    expect([...inFlight.roomByWebhook.keys()]).toEqual([1])
    answerAll()
    expect(inFlight.isIdle).toBe(false)
    inFlight.tick()
    expect(inFlight.isIdle).toBe(false)
    inFlight.tick()
    expect(inFlight.isIdle).toBe(true)
  })

  it("roomOf is what is left of 64 deliveries, and 0 once more than half are held", () => {
    const { inFlight } = setUp()
    inFlight.start(deliveries(10, 1))
    expect([inFlight.roomOf(1), inFlight.roomOf(2), inFlight.roomPerOther]).toEqual([54, 64, 64])
    inFlight.start(deliveries(22, 1))
    expect(inFlight.roomOf(1)).toBe(32)
    inFlight.start(deliveries(1, 1))
    expect(inFlight.roomOf(1)).toBe(0)
    expect(inFlight.room).toBe(2048 - 33)
  })

  it("roomOf is what is left of 4 once 1024 deliveries are held", () => {
    const { inFlight } = setUp()
    for (let webhook = 1; webhook <= 16; webhook++) inFlight.start(deliveries(64, webhook).slice(webhook === 1 ? 2 : 0))
    inFlight.start([delivery(99)])
    expect([inFlight.size, inFlight.roomOf(98), inFlight.roomOf(99)]).toEqual([1023, 64, 63])
    inFlight.start([delivery(98)])
    expect([inFlight.size, inFlight.roomOf(97), inFlight.roomOf(99)]).toEqual([1024, 4, 3])
  })

  it("a webhook that answers fast may hold eight times what it answered in a tick, up to 512", () => {
    const { answerAll, inFlight } = setUp()
    inFlight.start(deliveries(20, 1))
    answerAll()
    inFlight.tick()
    expect(inFlight.roomOf(1)).toBe(160)
    inFlight.start(deliveries(8, 1))
    answerAll()
    inFlight.tick()
    expect(inFlight.roomOf(1)).toBe(64)
    inFlight.start(deliveries(32, 1))
    answerAll()
    inFlight.start(deliveries(32, 1))
    answerAll()
    inFlight.start(deliveries(1, 1))
    answerAll()
    inFlight.tick()
    expect(inFlight.roomOf(1)).toBe(512)
  })

  it("abandon cancels every attempt once, reports none, and forgets calls and loads", () => {
    const { cancels, clock, completed, inFlight, sent } = setUp()
    const [first, second, other] = [delivery(1, "call"), delivery(1, "call"), delivery(2)]
    inFlight.start([first, second, other])
    expect(inFlight.abandon()).toEqual([first.id, second.id, other.id])
    expect([cancels(), completed, inFlight.isIdle]).toEqual([2, [], true])
    clock.now = 20_000
    inFlight.tick()
    expect(cancels()).toBe(2)
    const again = delivery(1, "call")
    inFlight.start([again])
    expect(sent.at(-1)).toBe(again.event_id)
  })

  it("measures timeouts from the start of an attempt, whatever the clock says", () => {
    const { cancels, clock, inFlight, sent } = setUp(50_000)
    inFlight.start([delivery(1, "call"), delivery(1, "call")])
    clock.now = 50_099
    inFlight.tick()
    expect([cancels(), sent.length]).toEqual([0, 1])
    clock.now = 50_100
    inFlight.tick()
    expect([cancels(), sent.length]).toEqual([0, 2])
  })

  it("an answered attempt is not cancelled at its timeout, also one answered before it could be cancelled", () => {
    const { answerAll, cancels, clock, completed, inFlight } = setUp()
    inFlight.start([delivery(1)])
    answerAll()
    clock.now = 10_000
    inFlight.tick()
    expect([cancels(), completed.length]).toEqual([0, 1])
    let late = 0
    const immediate = new InFlight({
      now: () => clock.now,
      post: (_, done) => {
        done({ status_code: 200, error: null })
        return () => void late++
      },
      onCompleted: () => undefined,
      onRoom: () => undefined
    })
    immediate.start([delivery(1)])
    clock.now = 20_000
    immediate.tick()
    expect([late, immediate.size]).toEqual([0, 0])
  })

  it("a late answer to an attempt that its call has passed does not start the one after the next", () => {
    const { answers, clock, inFlight, sent } = setUp()
    const [a, b, c] = [delivery(1, "call"), delivery(1, "call"), delivery(1, "call")]
    inFlight.start([a, b, c])
    clock.now = 100
    inFlight.tick()
    expect(sent).toEqual([a.event_id, b.event_id])
    answers.shift()?.({ status_code: 200, error: null })
    expect(sent).toEqual([a.event_id, b.event_id])
    answers.shift()?.({ status_code: 200, error: null })
    expect(sent).toEqual([a.event_id, b.event_id, c.event_id])
  })

  it("a call that waits for its webhook keeps its order: the next one waits until the first has started", () => {
    const { answers, clock, inFlight, sent } = setUp()
    const [a, b, c] = [delivery(1, "call"), delivery(1, "call"), delivery(1, "call")]
    inFlight.start([a, b, c, ...deliveries(31, 1)])
    clock.now = 100
    inFlight.tick()
    clock.now = 200
    inFlight.tick()
    expect(sent).toHaveLength(32)
    for (const done of answers.splice(1, 2)) done({ status_code: 200, error: null })
    expect(sent.slice(32)).toEqual([b.event_id])
  })

  it("a call without held deliveries starts its next one at once, and retries start without an order", () => {
    const { answerAll, inFlight, sent } = setUp()
    inFlight.start([delivery(1, "call")])
    answerAll()
    const next = delivery(1, "call")
    inFlight.start([next])
    expect(sent.at(-1)).toBe(next.event_id)
    inFlight.start([delivery(1, "retried", 1), delivery(1, "retried", 1)])
    expect(sent).toHaveLength(4)
  })
})
