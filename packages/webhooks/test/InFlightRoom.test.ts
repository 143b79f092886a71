import { describe, expect, it } from "@effect/vitest"
import { InFlight } from "../src/delivery/InFlight.ts"
import type { ClaimedDelivery } from "../src/delivery/QueueRepo.ts"
import { type AttemptResult, timedOut } from "../src/delivery/ReceiverClient.ts"

let ids = 0
const delivery = (webhook_id: number, call_id: string | null = null): ClaimedDelivery => ({
  id: ++ids,
  webhook_id,
  call_id,
  attempts: 0,
  is_replay: false,
  is_resend: false,
  is_active: true,
  consecutive_failures: 0,
  url: "https://example.com/",
  secret: "s",
  event_id: `whe_${ids}`,
  event: "call.started",
  timestamp: "2026-11-01T09:30:00.000Z",
  api_version: "2026-11-01",
  org_id: 1,
  project_id: null,
  agent_id: null,
  data: "{}"
})

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
  return { inFlight, clock, sent, completed, answerAll, cancels: () => cancels }
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
})
