import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type Activity, isSigned, SampleCustomer } from "../src/demo/SampleCustomer.ts"

const secret = "5e".repeat(32)
const unixSeconds = () => Math.floor(Date.now() / 1000)
const sign = (body: string | Buffer, at = unixSeconds()) =>
  `t=${at},v1=${createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex")}`

const post = (body: string, signature: string | null = sign(body)) =>
  Effect.gen(function* () {
    const { url } = yield* SampleCustomer
    const response = yield* Effect.promise(() =>
      fetch(url, { method: "POST", body, headers: signature === null ? {} : { "x-svc-signature-v1": signature } })
    )
    const answer: unknown = yield* Effect.promise(() => response.json())
    return { status: response.status, answer }
  })

const started = JSON.stringify({
  event: "call.started",
  call_id: "call_1",
  from: "+15550100200",
  to: "+15550100100",
  agent_id: "agent_1",
  gathered_digit: null,
  gathered_input: null,
  gather_status: null
})
const toolCall = (name: string, args: unknown) =>
  JSON.stringify({ event: "tool.call", tool_call_id: "t1", name, arguments: args, call_id: "call_1", from: null })
const result = (name: string, args: unknown) => Effect.map(post(toolCall(name, args)), ({ answer }) => answer)

const trusted = Effect.flatMap(SampleCustomer, (customer) => customer.trust(Redacted.make(secret)))

describe("the sample customer's server", () => {
  it.scopedLive("answers call.started with first_message, tools and system_prompt", () =>
    Effect.gen(function* () {
      yield* trusted
      const { answer, status } = yield* post(started)
      expect(status).toBe(200)
      expect(answer).toMatchObject({
        first_message: "Bright Smile, hello!",
        tools: [{ name: "find_free_slots" }, { name: "book_appointment" }],
        system_prompt: expect.stringMatching(/^```script$/m)
      })
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("answers call.started of the menu number with pre_gather, and then by gathered_digit", () =>
    Effect.gen(function* () {
      yield* trusted
      const call = JSON.parse(started)
      const ask = (more: unknown) => Effect.map(post(JSON.stringify(Object.assign({}, call, more))), (r) => r.answer)
      const to = "+15550100101"
      expect(yield* ask({ to })).toEqual({
        pre_gather: { prompt: "Press 1 for appointments, 2 for our hours.", timeout: 10 }
      })
      const chosen = (digit: string) => ({ to, gathered_digit: digit, gathered_input: digit, gather_status: "valid" })
      expect(yield* ask(chosen("1"))).toMatchObject({ first_message: "Bright Smile, hello!" })
      expect(yield* ask(chosen("2"))).toMatchObject({ first_message: "We are open nine to five. Anything else?" })
      const noDigit = { to, gather_status: "timeout" }
      expect(yield* ask(noDigit)).toMatchObject({ first_message: "Bright Smile, hello!" })
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("find_free_slots returns the free slots, and book_appointment books each once", () =>
    Effect.gen(function* () {
      yield* trusted
      expect(yield* result("find_free_slots", { day: "Friday" })).toEqual({
        result: { slots: ["9:00", "10:30"], summary: "Friday: 9:00 or 10:30." }
      })
      const booking = { day: "Friday", time: "10:30", name: "Ada" }
      expect(yield* result("book_appointment", booking)).toEqual({
        result: { booked: true, summary: "Booked: Friday 10:30, Ada." }
      })
      expect(yield* result("book_appointment", booking)).toEqual({
        result: { booked: false, summary: "Friday 10:30 is taken." }
      })
      expect(yield* result("find_free_slots", { day: "friday" })).toMatchObject({ result: { slots: ["9:00"] } })
      expect(yield* result("find_free_slots", { day: "Sunday" })).toMatchObject({
        result: { summary: "Sunday is full." }
      })
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("an invalid tool.call returns an error as its result", () =>
    Effect.gen(function* () {
      yield* trusted
      expect(yield* result("launch_rocket", {})).toEqual({
        result: { error: "no tool launch_rocket with such arguments" }
      })
      expect(yield* result("find_free_slots", { day: 5 })).toMatchObject({ result: { error: expect.any(String) } })
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("a request without a valid x-svc-signature-v1 is refused, and every request before trust", () =>
    Effect.gen(function* () {
      const seen: Array<Activity["_tag"]> = []
      const customer = yield* SampleCustomer
      yield* customer.watch((activity) => void seen.push(activity._tag))
      expect((yield* post(started)).status).toBe(401)
      yield* trusted
      for (const signature of [
        null,
        "",
        "t=,v1=",
        `sha256=${createHmac("sha256", secret).update(started).digest("hex")}`,
        sign(`${started} `),
        sign(started).replace(/^t=\d/, "t=9"),
        sign(started).slice(0, -1),
        sign(started).toUpperCase()
      ]) {
        expect((yield* post(started, signature)).status).toBe(401)
      }
      expect((yield* post(started)).status).toBe(200)
      expect(seen).toEqual([...Array.from({ length: 9 }, () => "Refused"), "Started"])
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("a signed request that is unknown is refused with 400", () =>
    Effect.gen(function* () {
      yield* trusted
      for (const body of ["", "{", "[]", '{"event":"call.started"}', '{"event":"unknown"}']) {
        expect((yield* post(body)).status, body).toBe(400)
      }
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it.scopedLive("a request that was signed more than 300 seconds ago is refused: somebody sent it again", () =>
    Effect.gen(function* () {
      yield* trusted
      expect((yield* post(started, sign(started, unixSeconds() - 290))).status).toBe(200)
      expect(yield* post(started, sign(started, unixSeconds() - 302))).toEqual({
        status: 401,
        answer: { error: "the signature is wrong or too old" }
      })
    }).pipe(Effect.provide(SampleCustomer.layer))
  )

  it("isSigned verifies the raw bytes and the age", () => {
    const body = Buffer.from([0xff, 0xfe, 0x00])
    const header = sign(body, 1000)
    expect(isSigned(secret, body, header, 1_300_000)).toBe(true)
    expect(isSigned(secret, body, header, 1_300_001)).toBe(false)
    expect(isSigned(secret, Buffer.from([0xff]), header, 1_000_000)).toBe(false)
  })
})
