import { expect, it } from "@effect/vitest"
import { CarrierRefused, CarrierUnavailable, type Numbers, type Regulatory } from "@svc/providers/Carrier"
import { SmsFailed } from "@svc/providers/Messaging"
import { Effect, Exit, Fiber, Stream, TestClock } from "effect"
import { describe } from "vitest"
import { fencedTelephony } from "../../src/fence/FencedTelephony.ts"
import { invalid } from "../fixtures/Invalid.ts"
import { telephony } from "../fixtures/Parts.ts"

type Answer = () => Effect.Effect<never, CarrierRefused | CarrierUnavailable>

const number = "+12125550101"
const address = { customer_name: "A", street: "B 1", city: "C", postcode: "D", region: null, country: "NL" }

/** What a carrier written in plain JavaScript returns. */
const returns =
  (value: unknown): Answer =>
  () =>
    Effect.succeed(invalid<never>(value))

const fails =
  (error: unknown): Answer =>
  () =>
    Effect.fail(invalid<CarrierRefused>(error))

/** The operations of a fenced carrier whose every operation behaves as `run`. */
const operations = (run: Answer) => {
  const retried = () =>
    Effect.catchTag(run(), "CarrierRefused", (error) => Effect.fail(invalid<CarrierUnavailable>(error)))
  const numbers: Numbers = { search: retried, purchase: run, release: retried, owned: Effect.suspend(retried) }
  const regulatory: Regulatory = { requirements: retried, submit: run, status: run }
  return Effect.map(fencedTelephony({ ...telephony("net"), numbers, regulatory }), (fenced) => ({
    search: fenced.numbers?.search({ country: "US", limit: 2 }) ?? Effect.dieMessage("lost"),
    purchase: fenced.numbers?.purchase({ key: "k", number, address: null }) ?? Effect.dieMessage("lost"),
    release: fenced.numbers?.release({ key: "k", number }) ?? Effect.dieMessage("lost"),
    owned: fenced.numbers?.owned ?? Effect.dieMessage("lost"),
    requirements: fenced.regulatory?.requirements("NL") ?? Effect.dieMessage("lost"),
    submit: fenced.regulatory?.submit({ key: "k", address }) ?? Effect.dieMessage("lost"),
    status: fenced.regulatory?.status("s") ?? Effect.dieMessage("lost")
  }))
}

type Operations = Effect.Effect.Success<ReturnType<typeof operations>>
type Name = keyof Operations
const names: ReadonlyArray<Name> = ["search", "purchase", "release", "owned", "requirements", "submit", "status"]

const failureOf = (carrier: Operations, name: Name) =>
  Effect.flip<unknown, CarrierRefused | CarrierUnavailable, never>(carrier[name])

describe("a fenced carrier", () => {
  it.effect("has no numbers, owned or regulatory when the plugin has none", () =>
    Effect.gen(function* () {
      const none = yield* fencedTelephony(telephony("net"))
      expect("numbers" in none || "regulatory" in none).toBe(false)
      const numbers: Numbers = {
        search: () => Effect.succeed([]),
        purchase: returns({}),
        release: () => Effect.void
      }
      const { numbers: fenced } = yield* fencedTelephony({ ...telephony("net"), numbers })
      expect(fenced !== undefined && "owned" in fenced).toBe(false)
    })
  )

  it.effect("fails with CarrierUnavailable that names plugin and operation when an operation throws or dies", () =>
    Effect.gen(function* () {
      const crashes: ReadonlyArray<Answer> = [
        () => {
          throw new Error("boom\nat x")
        },
        () => Effect.die(new Error("boom")),
        () => Effect.die("boom"),
        fails("boom"),
        fails(new Error("boom"))
      ]
      for (const crash of crashes) {
        const carrier = yield* operations(crash)
        for (const name of names) {
          const error = yield* failureOf(carrier, name)
          expect(error).toBeInstanceOf(CarrierUnavailable)
          expect(error.reason).toBe(`net: ${name} crashed: boom`)
        }
      }
    })
  )

  it.effect("fails with CarrierUnavailable when an operation interrupts itself or fails with nothing readable", () =>
    Effect.gen(function* () {
      for (const run of [() => Effect.interrupt, fails(undefined), fails({ _tag: "CarrierRefused", reason: 5 })]) {
        const carrier = yield* operations(run)
        for (const name of names) {
          const error = yield* failureOf(carrier, name)
          expect(error).toBeInstanceOf(CarrierUnavailable)
          expect(error.reason).toMatch(new RegExp(`^net: ${name} crashed: `))
        }
      }
    })
  )

  it.effect("fails with CarrierUnavailable at the deadline, also when the plugin cannot be interrupted", () =>
    Effect.gen(function* () {
      for (const run of [() => Effect.never, () => Effect.uninterruptible(Effect.never)]) {
        const carrier = yield* operations(run)
        for (const name of names) {
          const seconds = name === "search" ? 10 : 30
          const fiber = yield* Effect.fork(failureOf(carrier, name))
          yield* TestClock.adjust(seconds * 1000 - 1)
          expect(fiber.unsafePoll()).toBeNull()
          yield* TestClock.adjust(1)
          const error = yield* Fiber.join(fiber)
          expect(error).toMatchObject({
            _tag: "CarrierUnavailable",
            reason: `net: ${name} did not answer within ${seconds}s`
          })
        }
      }
    })
  )

  it.effect("interrupts the plugin's operation with its own", () =>
    Effect.gen(function* () {
      let stopped = 0
      const carrier = yield* operations(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => stopped++)))
      for (const name of names) {
        const fiber = yield* Effect.fork<unknown, CarrierRefused | CarrierUnavailable, never>(carrier[name])
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        yield* Effect.repeatN(Effect.yieldNow(), 20)
      }
      expect(stopped).toBe(names.length)
    })
  )

  it.effect("keeps the refusal of purchase, submit and status, and makes one line of its reason", () =>
    Effect.gen(function* () {
      const carrier = yield* operations(fails(new CarrierRefused({ reason: "It is taken.\nat x" })))
      for (const name of names) {
        const error = yield* failureOf(carrier, name)
        if (name === "purchase" || name === "submit" || name === "status") {
          expect(error).toBeInstanceOf(CarrierRefused)
          expect(error.reason).toBe("It is taken.")
        } else {
          expect(error).toBeInstanceOf(CarrierUnavailable)
          expect(error.reason).toBe(`net: ${name} was refused: It is taken.`)
        }
      }
    })
  )

  it.effect("recognizes the errors of another copy of the contract's module", () =>
    Effect.gen(function* () {
      const refusing = yield* operations(fails({ _tag: "CarrierRefused", reason: "taken" }))
      expect(yield* failureOf(refusing, "purchase")).toEqual(new CarrierRefused({ reason: "taken" }))
      const away = yield* operations(fails({ _tag: "CarrierUnavailable", reason: "HTTP 503" }))
      for (const name of names) {
        expect(yield* failureOf(away, name)).toEqual(new CarrierUnavailable({ reason: "net: HTTP 503" }))
      }
    })
  )
})

const offer = { number, country: "US", type: "local", area: null }
const rent = { number, carrier_id: "x" }
const verdict = { type: "local", status: "pending", rejection_reason: null }
const unreadable = Object.defineProperty({ ...offer }, "number", {
  get: () => {
    throw new Error("boom")
  }
})

/** Answers of the wrong shape, with what the error says. */
const wrong: { readonly [N in Exclude<Name, "release">]: ReadonlyArray<readonly [unknown, string]> } = {
  search: [
    [undefined, "must be a list"],
    [{ 0: offer, length: 1 }, "must be a list"],
    [[offer, undefined], "entry 1: it must be an object"],
    [[unreadable], "it cannot be read: boom"],
    [[{ ...offer, number: "12125550101" }], "entry 0: `number` must be a number in E.164"],
    [[{ ...offer, number: "+012125550101" }], "E.164"],
    [[{ ...offer, number: `${number}\n` }], "E.164"],
    [[{ ...offer, number: [number] }], "E.164"],
    [[{ ...offer, country: "us" }], "`country` must be ISO 3166-1"],
    [[{ ...offer, type: "satellite" }], "`type` must be local, mobile or toll_free"],
    [[{ ...offer, area: undefined }], "`area` must be a string or null"],
    [Array(501).fill(offer), "has 501 entries; at most 500"]
  ],
  purchase: [
    [undefined, "it must be an object"],
    [{ ...rent, number: "+12125550102" }, "is not the ordered one"],
    [{ number }, "`carrier_id` must be a non-empty string"],
    [{ number, carrier_id: "" }, "`carrier_id` must be a non-empty string"],
    [unreadable, "it cannot be read: boom"]
  ],
  owned: [
    ["all", "must be a list"],
    [[rent, { ...rent, number: "private" }], "entry 1: `number` must be"],
    [Array(100_001).fill(rent), "has 100001 entries; at most 100000"]
  ],
  requirements: [
    [null, "must be an object"],
    [{ fields: ["city"] }, "`number_types` must be a list"],
    [{ fields: ["passport"], number_types: [] }, "it must be a field of an address"],
    [{ fields: [], number_types: ["satellite"] }, "`type` must be local"]
  ],
  submit: [
    [undefined, "`submission_id` must be a non-empty string"],
    [{ submission_id: 5 }, "`submission_id` must be a non-empty string"],
    [{ submission_id: "x".repeat(501) }, "`submission_id` must be a non-empty string"]
  ],
  status: [
    [[], "must not be empty"],
    [[verdict, verdict], "each type of number once"],
    [[{ ...verdict, status: "lost" }], "`status` must be pending, verified, rejected or expired"],
    [[{ ...verdict, status: "rejected" }], "`rejection_reason` must say why"],
    [[{ ...verdict, rejection_reason: "no" }], "must be null unless rejected"]
  ]
}

describe("an answer of a fenced carrier", () => {
  it.effect("of the wrong shape fails with CarrierUnavailable that says what is wrong", () =>
    Effect.gen(function* () {
      for (const name of names) {
        if (name === "release") continue
        for (const [answer, problem] of wrong[name]) {
          const error = yield* failureOf(yield* operations(returns(answer)), name)
          expect(error).toBeInstanceOf(CarrierUnavailable)
          expect(error.reason).toMatch(new RegExp(`^net: ${name} returned something invalid: `))
          expect(error.reason).toContain(problem)
          expect(error.reason).not.toContain("private")
        }
      }
    })
  )

  it.effect("of the right shape is passed on, and a search keeps its limit", () =>
    Effect.gen(function* () {
      const right = {
        search: [offer, { ...offer, area: "New York" }],
        purchase: rent,
        owned: Array(100_000).fill(rent),
        requirements: { fields: ["city"], number_types: ["local"] },
        submit: { submission_id: "s" },
        status: [verdict, { type: "mobile", status: "rejected", rejection_reason: "no" }]
      }
      for (const name of names) {
        if (name === "release") continue
        expect(yield* (yield* operations(returns(right[name])))[name]).toEqual(right[name])
      }
      expect(yield* (yield* operations(returns([offer, offer, offer]))).search).toEqual([offer, offer])
      expect(yield* (yield* operations(returns("released"))).release).toBeUndefined()
    })
  )
})

describe("fenced text messages", () => {
  it.effect("may be sent when the network hangs or the plugin crashes, and not when it refuses", () =>
    Effect.gen(function* () {
      const text = {
        id: "sms_1",
        to: "+31612345678",
        from: "Shop",
        sender_type: "alphanumeric",
        message: "Hi"
      } as const
      const failures = [
        [Effect.never, true],
        [Effect.die(new Error("boom")), true],
        [Effect.fail(new SmsFailed({ reason: "no credits" })), undefined]
      ] as const
      for (const [send, mayBeSent] of failures) {
        const plugin = { ...telephony("net"), sms: { send: () => send, incoming: Stream.never } }
        const sending = yield* Effect.fork(Effect.flip((yield* fencedTelephony(plugin)).sms?.send(text) ?? Effect.void))
        yield* TestClock.adjust("11 seconds")
        const error = yield* Fiber.join(sending)
        expect([error._tag, error.mayBeSent]).toEqual(["SmsFailed", mayBeSent])
      }
    })
  )

  it.effect("keep deliversOnce, which only `true` means", () =>
    Effect.gen(function* () {
      const sms = { send: () => Effect.never, incoming: Stream.never }
      for (const [given, kept] of [
        [true, true],
        [false, false],
        [undefined, false],
        ["yes", false]
      ] as const) {
        const plugin = { ...telephony("net"), sms: { ...sms, deliversOnce: invalid<boolean>(given) } }
        expect((yield* fencedTelephony(plugin)).sms?.deliversOnce).toBe(kept)
      }
    })
  )
})
