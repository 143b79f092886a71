import { appendFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import type { CarrierAddress } from "@svc/providers/Carrier"
import { Telephony } from "@svc/providers/Telephony"
import { Context, Effect, Layer, type Scope } from "effect"
import { CallRequests } from "../src/CallRequests.ts"
import { CarrierRecords } from "../src/Carrier/CarrierRecords.ts"
import { NetworkClock } from "../src/Network/NetworkClock.ts"
import { CallRealism } from "../src/Realism/CallRealism.ts"
import { SimulatedTelephony } from "../src/SimulatedTelephony.ts"
import { routeRequest } from "./FakeSocket.ts"

/** A newly started simulated network. */
const start = (settings: Parameters<typeof CarrierRecords.layerOf>[0] = {}) =>
  Effect.gen(function* () {
    const carrier = CarrierRecords.layerOf(settings)
    const context = yield* Layer.build(
      Layer.provide(SimulatedTelephony, [
        CallRealism.layer,
        CallRequests.layer,
        NetworkClock.layer,
        Layer.orDie(carrier)
      ])
    )
    const { numbers, regulatory, routes, sms } = Context.get(context, Telephony)
    if (numbers === undefined || regulatory === undefined || sms === undefined) return yield* Effect.dieMessage("lost")
    const view = Effect.gen(function* () {
      for (const route of routes) {
        if (route._tag !== "Http" || route.path !== "/numbers") continue
        const { body } = yield* route.handle(routeRequest)
        return JSON.parse(String(body))
      }
    })
    return { numbers, regulatory, sms, view }
  })

const temporaryFile: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-carrier-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  (directory) => join(directory, "carrier.jsonl")
)

const buy = (key: string, number: string) => ({ key, number, address: null })
const number = "+12125550101"

const address: CarrierAddress = {
  customer_name: "Bakery",
  street: "Damrak 1",
  city: "Amsterdam",
  postcode: "1012 LG",
  region: null,
  country: "NL"
}

describe("numbers of the simulated carrier", () => {
  it.scoped("are the same at every start, by country, type, area code and place", () =>
    Effect.gen(function* () {
      const { numbers } = yield* start()
      const again = yield* start()
      for (const country of ["US", "CA", "NL", "DE", "GB", "FR", "BE", "ES", "AU"]) {
        const found = yield* numbers.search({ country, limit: 500 })
        expect(found.length).toBe(500)
        expect(yield* again.numbers.search({ country, limit: 500 })).toEqual(found)
        expect(found.some((offer) => offer.country !== country || offer.number.endsWith("9999"))).toBe(false)
      }
      const inNewYork = { number: "+12125550100", country: "US", type: "local", area: "New York" }
      for (const area of ["212", "new york", " New York "]) {
        expect(yield* numbers.search({ country: "US", area, limit: 1 })).toEqual([inNewYork])
      }
      expect((yield* numbers.search({ country: "NL", area: "020", limit: 1 }))[0]?.area).toBe("Amsterdam")
      expect((yield* numbers.search({ country: "US", type: "toll_free", limit: 1 }))[0]?.number).toBe("+18005550100")
      expect(yield* numbers.search({ country: "ZZ", limit: 5 })).toEqual([])
    })
  )

  it.scoped("without a setting are not listed, so that any number can be imported", () =>
    Effect.gen(function* () {
      expect((yield* start()).numbers.owned).toBeUndefined()
      const { owned } = (yield* start({ owned: [] })).numbers
      expect(owned && (yield* owned)).toEqual([])
      const listed = (yield* start({ owned: [number] })).numbers.owned
      expect(listed && (yield* listed)).toEqual([{ number, carrier_id: "sim-12125550101" }])
    })
  )

  it.scoped("that were bought with a key are known to the next start and to another server with the file", () =>
    Effect.gen(function* () {
      const settings = { file: yield* temporaryFile, owned: ["+31201234567"] }
      const [first, beside] = [yield* start(settings), yield* start(settings)]
      const rented = yield* first.numbers.purchase(buy("k1", number))
      expect(yield* beside.numbers.purchase(buy("k1", number))).toEqual(rented)
      expect(yield* Effect.flip(beside.numbers.purchase(buy("k2", number)))).toMatchObject({ _tag: "CarrierRefused" })
      yield* beside.numbers.release({ key: "r1", number: "+31201234567" })
      const next = yield* start(settings)
      expect(yield* next.numbers.purchase(buy("k1", number))).toEqual(rented)
      expect(yield* Effect.flip(next.numbers.purchase(buy("k2", number)))).toMatchObject({ _tag: "CarrierRefused" })
      for (const one of [first, beside, next]) {
        expect(yield* one.view).toEqual({
          rented: [rented],
          operations: { purchase: 1, release: 1, submit: 0, status: 0, sms: 0 }
        })
      }
    })
  )

  it.scoped("that end in 9999 are refused, and the refusal is repeated for its key", () =>
    Effect.gen(function* () {
      const { numbers, view } = yield* start()
      const refused = Effect.flip(numbers.purchase(buy("k", "+31201239999")))
      expect(yield* refused).toMatchObject({ _tag: "CarrierRefused" })
      expect(yield* refused).toEqual(yield* refused)
      expect(yield* view).toMatchObject({ rented: [], operations: { purchase: 0 } })
    })
  )

  it.scoped("in a file with an invalid line stop the start with a reason that names the setting", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile
      appendFileSync(file, "not a record\n")
      const error = yield* Effect.flip(Layer.build(CarrierRecords.layerOf({ file })))
      expect(error.reason).toContain("SVC_SIMULATED_CARRIER_FILE")
      const elsewhere = yield* Effect.flip(Layer.build(CarrierRecords.layerOf({ file: `${file}/below` })))
      expect(elsewhere.reason).toContain("SVC_SIMULATED_CARRIER_FILE")
    })
  )
})

describe("a text message with an id", () => {
  it.scoped("is carried out once, also after a restart with the file", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile
      const message = { id: "m", to: "+31612345678", from: number, sender_type: "number", message: "Hi" } as const
      const answers: Array<unknown> = []
      for (let run = 0; run < 2; run++) answers.push(yield* (yield* start({ file })).sms.send(message))
      expect(answers).toEqual([{ provider_message_id: "sim-m" }, { provider_message_id: "sim-m" }])
      expect(yield* (yield* start({ file })).view).toMatchObject({ operations: { sms: 1 } })
    })
  )
})

describe("an address on the simulated carrier", () => {
  const statesOf = (customer_name: string) =>
    Effect.gen(function* () {
      const { regulatory } = yield* start()
      const { submission_id } = yield* regulatory.submit({ key: "k", address: { ...address, customer_name } })
      // The submission is known also after a restart without a file.
      const next = yield* start()
      const asked = yield* Effect.replicateEffect(next.regulatory.status(submission_id), 3)
      return asked.map((verdicts) => verdicts.map(({ status }) => status).join(" "))
    })

  it.scoped("gets the state that the customer's name decides, for local, mobile and toll-free numbers", () =>
    Effect.gen(function* () {
      const all = (state: string) => `${state} ${state} ${state}`
      const partial = "verified rejected rejected"
      expect(yield* statesOf("Bakery")).toEqual(Array(3).fill(all("verified")))
      expect(yield* statesOf("Mr REJECT")).toEqual(Array(3).fill(all("rejected")))
      expect(yield* statesOf("PARTIAL")).toEqual(Array(3).fill(partial))
      expect(yield* statesOf("EXPIRE")).toEqual([all("verified"), all("expired"), all("expired")])
      expect(yield* statesOf("PARTIAL PENDING")).toEqual([all("pending"), partial, partial])
    })
  )
})
