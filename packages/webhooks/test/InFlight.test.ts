import { describe, expect, it } from "@effect/vitest"
import { type CompletedAttempt, InFlight } from "../src/delivery/InFlight.ts"
import type { ClaimedDelivery } from "../src/delivery/QueueRepo.ts"
import { type AttemptResult, timedOut } from "../src/delivery/ReceiverRequests.ts"
import { delivery } from "./ClaimedDeliveries.ts"

/** An {@link InFlight} with a clock and receivers that the test controls. */
const setUp = () => {
  const sent: Array<string> = []
  const completed: Array<CompletedAttempt> = []
  const answers = new Map<string, (result: AttemptResult) => void>()
  const clock = { now: 0 }
  let roomCalls = 0
  const inFlight = new InFlight({
    now: () => clock.now,
    post: (request, done) => {
      const id: string = JSON.parse(request.body).id
      sent.push(id)
      answers.set(id, done)
      return () => done(timedOut)
    },
    onCompleted: (attempt) => void completed.push(attempt),
    onRoom: () => void roomCalls++
  })
  const answer = (one: ClaimedDelivery, status_code = 200) => answers.get(one.event_id)?.({ status_code, error: null })
  return { inFlight, sent, completed, clock, answer, roomCalls: () => roomCalls }
}

describe("InFlight", () => {
  it("an attempt without an answer for 10 seconds completes as timed out, once", () => {
    const { answer, clock, inFlight, completed } = setUp()
    const [slow, quick] = [delivery(1), delivery(1)]
    inFlight.start([slow, quick])
    answer(quick)
    clock.now = 9_999
    inFlight.tick()
    expect(completed.map(({ delivery: { id } }) => id)).toEqual([quick.id])
    clock.now = 10_000
    inFlight.tick()
    expect(completed.at(-1)).toEqual({ delivery: slow, at: 0, result: timedOut })
    answer(slow)
    expect(completed).toHaveLength(2)
    expect(inFlight.size).toBe(0)
  })

  it("a call's deliveries to a webhook start in order; a slow one delays the next by 100 ms", () => {
    const { answer, clock, inFlight, sent } = setUp()
    const [a, b, c] = [delivery(1, "call"), delivery(1, "call"), delivery(1, "call")]
    const [otherWebhook, otherCall] = [delivery(2, "call"), delivery(1, "other")]
    inFlight.start([a, b, c, otherWebhook, otherCall])
    expect(sent).toEqual([a, otherWebhook, otherCall].map(({ event_id }) => event_id))
    answer(a)
    expect(sent.at(-1)).toBe(b.event_id)
    clock.now = 99
    inFlight.tick()
    expect(sent).toHaveLength(4)
    clock.now = 100
    inFlight.tick()
    expect(sent.at(-1)).toBe(c.event_id)
  })

  it("many deliveries are held at once and start one after the other; those that were abandoned do not start", () => {
    const { inFlight, sent } = setUp()
    const many = [delivery(1), delivery(2), delivery(3)]
    const steps = inFlight.starting(many)
    steps.next()
    expect([inFlight.size, sent]).toEqual([3, many.slice(0, 1).map(({ event_id }) => event_id)])
    steps.next()
    inFlight.abandon()
    expect(steps.next().done).toBe(true)
    expect(sent).toHaveLength(2)
  })

  it("a retry neither waits for first attempts of its call nor delays them", () => {
    const { inFlight, sent } = setUp()
    const [retry, first] = [delivery(1, "call", 2), delivery(1, "call")]
    inFlight.start([first, retry])
    expect(sent).toHaveLength(2)
  })

  it("a webhook has at most 32 concurrent attempts, and its other deliveries wait in order", () => {
    const { answer, inFlight, sent } = setUp()
    const many = Array.from({ length: 40 }, () => delivery(1))
    inFlight.start(many)
    expect(sent).toHaveLength(32)
    for (const one of many) answer(one)
    expect(sent).toEqual(many.map(({ event_id }) => event_id))
    expect(inFlight.size).toBe(0)
  })

  it("roomByWebhook limits a receiver that hangs to 64 deliveries, and roomPerOther falls to 4 when half of the room is used", () => {
    const { inFlight } = setUp()
    expect(inFlight.roomPerOther).toBe(64)
    inFlight.start(Array.from({ length: 64 }, () => delivery(1)))
    expect(inFlight.roomByWebhook.get(1)).toBe(0)
    expect(inFlight.room).toBe(2048 - 64)
    for (let id = 2; id <= 16; id++) inFlight.start(Array.from({ length: 64 }, () => delivery(id)))
    expect(inFlight.roomPerOther).toBe(4)
  })

  it("a receiver that answers fast gets a larger allowance, and onRoom is called when it has room again", () => {
    const { answer, inFlight, roomCalls } = setUp()
    const many = Array.from({ length: 60 }, () => delivery(1))
    inFlight.start(many)
    expect(inFlight.roomByWebhook.get(1)).toBe(0)
    for (const one of many.slice(0, 50)) answer(one)
    expect(roomCalls()).toBe(1)
    inFlight.tick()
    expect(inFlight.roomByWebhook.get(1)).toBe(390)
  })

  it("abandon completes no attempt and returns the ids of what was held", () => {
    const { answer, inFlight, completed } = setUp()
    const [a, b] = [delivery(1, "call"), delivery(1, "call")]
    inFlight.start([a, b])
    expect(inFlight.abandon()).toEqual([a.id, b.id])
    answer(a)
    expect(completed).toEqual([])
    expect(inFlight.size).toBe(0)
    inFlight.start([b])
    expect(inFlight.ids).toEqual([b.id])
  })
})
