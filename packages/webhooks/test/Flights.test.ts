import { describe, expect, it } from "@effect/vitest"
import { Flights, type Landed } from "../src/delivery/Flights.ts"
import type { Claimed } from "../src/delivery/QueueRepo.ts"
import { type Reply, tooLate } from "../src/delivery/Receivers.ts"
import { tally } from "../src/delivery/Tally.ts"

let ids = 0
const delivery = (webhook_id: number, call_id: string | null = null, attempts = 0): Claimed => ({
  id: ++ids,
  webhook_id,
  call_id,
  attempts,
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

/** Flights whose time and receivers are in the test's hands. */
const airport = () => {
  const sent: Array<string> = []
  const landed: Array<Landed> = []
  const answers = new Map<string, (reply: Reply) => void>()
  const clock = { now: 0 }
  let rooms = 0
  const flights = new Flights({
    now: () => clock.now,
    post: (letter, done) => {
      const id: string = JSON.parse(letter.body).id
      sent.push(id)
      answers.set(id, done)
      return () => done(tooLate)
    },
    landed: (flight) => void landed.push(flight),
    roomAgain: () => void rooms++
  })
  const answer = (one: Claimed, status_code = 200) => answers.get(one.event_id)?.({ status_code, error: null })
  return { flights, sent, landed, clock, answer, rooms: () => rooms }
}

describe("deliveries under way", () => {
  it("what is not answered within 10 seconds is given up; what is answered later is not told twice", () => {
    const { answer, clock, flights, landed } = airport()
    const [slow, quick] = [delivery(1), delivery(1)]
    flights.start([slow, quick])
    answer(quick)
    clock.now = 9_999
    flights.sweep()
    expect(landed.map(({ delivery: { id } }) => id)).toEqual([quick.id])
    clock.now = 10_000
    flights.sweep()
    expect(landed.at(-1)).toEqual({ delivery: slow, at: 0, reply: tooLate })
    answer(slow)
    expect(landed).toHaveLength(2)
    expect(flights.size).toBe(0)
  })

  it("a call's deliveries to one webhook start one after the other; a slow one holds the next up for 100 ms", () => {
    const { answer, clock, flights, sent } = airport()
    const [a, b, c] = [delivery(1, "call"), delivery(1, "call"), delivery(1, "call")]
    const [elsewhere, otherCall] = [delivery(2, "call"), delivery(1, "other")]
    flights.start([a, b, c, elsewhere, otherCall])
    expect(sent).toEqual([a, elsewhere, otherCall].map(({ event_id }) => event_id))
    answer(a)
    expect(sent.at(-1)).toBe(b.event_id)
    clock.now = 99
    flights.sweep()
    expect(sent).toHaveLength(4)
    clock.now = 100
    flights.sweep()
    expect(sent.at(-1)).toBe(c.event_id)
  })

  it("what is tried again neither waits for its call nor holds it up", () => {
    const { flights, sent } = airport()
    const [again, first] = [delivery(1, "call", 2), delivery(1, "call")]
    flights.start([first, again])
    expect(sent).toHaveLength(2)
  })

  it("one webhook has at most 32 requests under way, the rest of its deliveries wait in order", () => {
    const { answer, flights, sent } = airport()
    const many = Array.from({ length: 40 }, () => delivery(1))
    flights.start(many)
    expect(sent).toHaveLength(32)
    for (const one of many) answer(one)
    expect(sent).toEqual(many.map(({ event_id }) => event_id))
    expect(flights.size).toBe(0)
  })

  it("a receiver that hangs takes a part of the room only; when half of all is taken, a small one", () => {
    const { flights } = airport()
    expect(flights.roomForOthers).toBe(64)
    flights.start(Array.from({ length: 64 }, () => delivery(1)))
    expect(flights.roomLeft.get(1)).toBe(0)
    expect(flights.room).toBe(2048 - 64)
    for (let id = 2; id <= 16; id++) flights.start(Array.from({ length: 64 }, () => delivery(id)))
    expect(flights.roomForOthers).toBe(4)
  })

  it("one that answers fast is given more at a time, and says when it has room again", () => {
    const { answer, flights, rooms } = airport()
    const many = Array.from({ length: 60 }, () => delivery(1))
    flights.start(many)
    expect(flights.roomLeft.get(1)).toBe(0)
    for (const one of many.slice(0, 50)) answer(one)
    expect(rooms()).toBe(1)
    flights.sweep()
    expect(flights.roomLeft.get(1)).toBe(390)
  })

  it("abandoned ones are told to nobody, and are known to who has to give them back", () => {
    const { answer, flights, landed } = airport()
    const [a, b] = [delivery(1, "call"), delivery(1, "call")]
    flights.start([a, b])
    expect(flights.abandon()).toEqual([a.id, b.id])
    answer(a)
    expect(landed).toEqual([])
    expect(flights.size).toBe(0)
    flights.start([b])
    expect(flights.known).toEqual([b.id])
  })
})

describe("failures in a row", () => {
  const [good, bad, gone] = [
    { status_code: 200, error: null },
    { status_code: 500, error: "status 500" },
    { status_code: 410, error: "status 410" }
  ]
  const of = (...attempts: ReadonlyArray<typeof good | typeof bad>) =>
    tally(
      attempts.map((one) => ({
        delivery: { webhook_id: 1 },
        status_code: one?.status_code ?? null,
        error: one?.error ?? null
      }))
    )[0]

  it("are counted before the first success, after the last, and at their longest", () => {
    expect(of(bad, bad, good, bad, bad, bad, good, bad)).toMatchObject({
      failures: 6,
      had_success: true,
      leading: 2,
      longest: 3,
      trailing: 1,
      gone: false
    })
    expect(of(bad, bad)).toMatchObject({ failures: 2, had_success: false, leading: 2, trailing: 2, longest: 2 })
    expect(of(good)).toMatchObject({ failures: 0, had_success: true, leading: 0, trailing: 0, longest: 0 })
    expect(of(gone)).toMatchObject({ gone: true, failures: 1 })
  })

  it("are each webhook's own", () => {
    const both = tally([
      { delivery: { webhook_id: 1 }, ...bad },
      { delivery: { webhook_id: 2 }, ...good },
      { delivery: { webhook_id: 1 }, ...bad }
    ])
    expect(both.map(({ failures, webhook_id }) => [webhook_id, failures])).toEqual([
      [1, 2],
      [2, 0]
    ])
  })
})
