import { expect, it, layer } from "@effect/vitest"
import { CarrierUnavailable, type OfferedNumber } from "@svc/providers/Carrier"
import { Effect, Layer } from "effect"
import { NumberOrders } from "../../src/carrier/NumberOrders.ts"
import { NumberSearch } from "../../src/carrier/NumberSearch.ts"
import { NumbersDouble } from "../CarrierDoubles.ts"
import { ownerWith } from "../Fixture.ts"
import { freshNumber, onDatabase } from "./Fixture.ts"

const [first, second] = [new NumbersDouble(), new NumbersDouble()]
const offer = (number: string, area: string | null = null): OfferedNumber => ({
  number,
  country: "US",
  type: "local",
  area
})
const down = () => Effect.fail(new CarrierUnavailable({ reason: "down" }))
const query = { country: "US", limit: 10 } as const

layer(onDatabase({ sip: undefined, first, second }))("the search for numbers", (it) => {
  it.effect("lists the offers of all carriers once, with the price, without those that are taken here", () =>
    Effect.gen(function* () {
      const search = yield* NumberSearch
      const orders = yield* NumberOrders
      const [a, b, c] = [yield* freshNumber, yield* freshNumber, yield* freshNumber]
      first.search = () => Effect.succeed([offer(a, "New York"), offer(b)])
      second.search = () => Effect.succeed([offer(b), offer(c), { ...offer("+31201234567"), country: "NL" }])
      yield* orders.purchase(yield* ownerWith("5"), { number: b })
      expect(yield* search.search("payg", query)).toEqual([
        { ...offer(a, "New York"), monthly_cost_eur: 5 },
        { ...offer(c), monthly_cost_eur: 5 }
      ])
      expect(yield* search.search("enterprise", { ...query, limit: 1 })).toEqual([
        { ...offer(a, "New York"), monthly_cost_eur: 5 }
      ])
    })
  )

  it.effect("passes on area and type, and an empty area is none", () =>
    Effect.gen(function* () {
      const search = yield* NumberSearch
      yield* search.search("payg", { ...query, area: "", type: "toll_free" })
      yield* search.search("payg", { ...query, area: "212" })
      expect(first.searches.slice(-2)).toEqual([
        { country: "US", limit: 30, type: "toll_free" },
        { country: "US", limit: 30, area: "212" }
      ])
    })
  )

  it.effect("finds numbers behind many that are taken here", () =>
    Effect.gen(function* () {
      const search = yield* NumberSearch
      const orders = yield* NumberOrders
      const owner = yield* ownerWith("200")
      const all = yield* Effect.replicateEffect(freshNumber, 26)
      first.search = ({ limit }) => Effect.succeed(all.slice(0, limit).map((number) => offer(number)))
      second.search = () => Effect.succeed([])
      yield* Effect.forEach(all.slice(0, 25), (number) => orders.purchase(owner, { number }))
      const found = yield* search.search("payg", { country: "US", limit: 1 })
      expect(found.map(({ number }) => number)).toEqual(all.slice(25))
      // The carrier does not answer when it is asked for more.
      first.search = ({ limit }) =>
        limit > 30 ? down() : Effect.succeed(all.slice(0, limit).map((number) => offer(number)))
      expect(yield* search.search("payg", { country: "US", limit: 2 })).toEqual([])
    })
  )

  it.effect("leaves out a carrier that does not answer, and is 503 when none does", () =>
    Effect.gen(function* () {
      const search = yield* NumberSearch
      const number = yield* freshNumber
      first.search = down
      second.search = () => Effect.succeed([offer(number)])
      expect((yield* search.search("payg", query)).map((one) => one.number)).toEqual([number])
      second.search = down
      const error = yield* Effect.flip(search.search("payg", query))
      expect([error.status, error.code]).toEqual([503, "UNAVAILABLE"])
      expect(error.message).toContain("first, second")
    })
  )

  it.effect("decides who is asked to sell: the carrier that offers the number, then the others", () =>
    Effect.gen(function* () {
      const orders = yield* NumberOrders
      const owner = yield* ownerWith("10")
      const [offered, refused] = [yield* freshNumber, yield* freshNumber]
      first.search = () => Effect.succeed([])
      second.search = () => Effect.succeed([offer(offered)])
      const bought = yield* orders.purchase(owner, { number: offered })
      expect(bought.telephony).toBe("second")
      first.rented.set(refused, { number: refused, carrier_id: "somebody's" })
      const other = yield* orders.purchase(owner, { number: refused })
      expect(other.telephony).toBe("second")
      const keys = [...first.purchases, ...second.purchases].flatMap(({ key, number }) =>
        number === refused ? [key] : []
      )
      expect(new Set(keys).size).toBe(2)
    })
  )
})

it.effect("without a carrier search and purchase are 503 and say what to do", () =>
  Effect.gen(function* () {
    const search = yield* NumberSearch
    const orders = yield* NumberOrders
    const number = yield* freshNumber
    const errors = [
      yield* Effect.flip(search.search("payg", query)),
      yield* Effect.flip(orders.purchase(yield* ownerWith("5"), { number }))
    ]
    for (const error of errors) {
      expect([error.code, error.message]).toEqual([
        "UNAVAILABLE",
        "No loaded telephony plugin sells phone numbers; load one in SVC_PLUGINS, or import a number"
      ])
    }
  }).pipe(Effect.provide(onDatabase({ sip: undefined }).pipe(Layer.fresh)))
)
