import { Effect, Fiber } from "effect"
import {
  type CarrierAddress,
  type CarrierRefused,
  type CarrierUnavailable,
  isE164,
  type Numbers,
  type NumberType,
  type OfferedNumber,
  type OwnedNumber
} from "../Carrier.ts"
import { type Check, CheckFailed, must, mustSucceed } from "./Check.ts"
import type { Network, TelephonyCheckOptions, TelephonyHarness } from "./TelephonyHarness.ts"

/** What the checks of `numbers` buy. */
export interface NumbersForSale {
  /** A country and a type of which at least five numbers are for sale. */
  readonly country: string
  readonly type: NumberType
  /** The address for the purchase, where the country demands one. */
  readonly address?: CarrierAddress & { readonly submission_id: string | null }
  /** A country in which the carrier sells nothing; `ZZ` by default. */
  readonly noneIn?: string
  /** A number whose purchase the carrier refuses. Without it that refusal is not checked. */
  readonly refused?: string
  /** A number that the carrier does not rent to the platform; a fictitious one by default. */
  readonly unknown?: string
}

let used = 0
/** An idempotency key that no other order has. */
export const newOrderKey = (): string => `conformance-${crypto.randomUUID()}-${used++}`

/** Whether an error is one that the contract declares for purchases and submissions. */
export const isCarrierError = (error: { readonly _tag: string }): boolean =>
  error._tag === "CarrierRefused" || error._tag === "CarrierUnavailable"

const numbersOf = (offers: ReadonlyArray<OfferedNumber>): string => offers.map(({ number }) => number).join(", ")

/** The requirements on the numbers that a telephone network sells. They pass when it has no `numbers`. */
export const numbersChecks = (
  { check, mustFail, quiet, within }: TelephonyHarness,
  { forSale }: TelephonyCheckOptions
): ReadonlyArray<Check> => {
  const selling = (
    name: string,
    body: (numbers: Numbers, goods: NumbersForSale) => Effect.Effect<void, CheckFailed>
  ): Check =>
    check(name, ({ telephony: { numbers } }: Network) =>
      numbers === undefined
        ? Effect.void
        : forSale === undefined
          ? Effect.fail(new CheckFailed({ reason: "numbers is provided; give the suite `forSale`" }))
          : body(numbers, forSale)
    )

  const searchFor = (numbers: Numbers, query: Parameters<Numbers["search"]>[0]) =>
    within(
      "search",
      Effect.suspend(() => numbers.search(query))
    ).pipe(mustSucceed("search"))
  const search = (numbers: Numbers, { country, type }: NumbersForSale, limit = 5) =>
    searchFor(numbers, { country, type, limit })
  const buying = (numbers: Numbers, { address }: NumbersForSale, key: string, number: string) =>
    Effect.suspend(() => numbers.purchase({ key, number, address: address ?? null }))
  const buy = (numbers: Numbers, goods: NumbersForSale, key: string, number: string) =>
    within("purchase", buying(numbers, goods, key, number)).pipe(mustSucceed("purchase"))
  const release = (numbers: Numbers, key: string, number: string) =>
    within(
      "release",
      Effect.suspend(() => numbers.release({ key, number }))
    ).pipe(mustSucceed("release"))
  const refusedPurchase = (numbers: Numbers, goods: NumbersForSale, number: string) =>
    mustFail(
      `purchase of ${number}`,
      buying(numbers, goods, newOrderKey(), number),
      ({ _tag }) => _tag === "CarrierRefused"
    )

  const first = (numbers: Numbers, goods: NumbersForSale): Effect.Effect<string, CheckFailed> =>
    Effect.flatMap(search(numbers, goods), ([offer]) =>
      offer === undefined ? new CheckFailed({ reason: "search found nothing for sale" }) : Effect.succeed(offer.number)
    )
  /** The rented numbers; undefined when the carrier cannot list them. */
  const owned = (numbers: Numbers): Effect.Effect<ReadonlyArray<string> | undefined, CheckFailed> =>
    Effect.gen(function* () {
      if (numbers.owned === undefined) return undefined
      const all = yield* within("owned", numbers.owned).pipe(mustSucceed("owned"))
      return all.map(({ number }) => number).toSorted()
    })
  /** Fails unless the number is rented exactly once, and the others are as before. */
  const rentsOnly = (numbers: Numbers, number: string, before: ReadonlyArray<string> | undefined) =>
    Effect.flatMap(owned(numbers), (now) =>
      must(
        now === undefined || now.join() === [...(before ?? []), number].toSorted().join(),
        `after the purchase of ${number} owned changed from [${before}] to [${now}]`
      )
    )
  const sameAnswer = (answers: ReadonlyArray<OwnedNumber>) =>
    must(
      new Set(answers.map(({ carrier_id, number }) => `${carrier_id} ${number}`)).size === 1,
      "the repetition of a purchase with its key gave another answer"
    )

  return [
    selling("search offers different numbers of the country and the type, at most limit", (numbers, goods) =>
      Effect.gen(function* () {
        const offers = yield* search(numbers, goods)
        yield* must(offers.length === 5, `it offered ${offers.length} numbers instead of 5`)
        yield* must(new Set(numbersOf(offers).split(", ")).size === 5, "it offered a number twice")
        for (const { country, number, type } of offers) {
          yield* must(isE164(number), `${number} is not E.164`)
          yield* must(country === goods.country, `it offered ${number} of ${country} in ${goods.country}`)
          yield* must(type === goods.type, `it offered ${number} of type ${type} as ${goods.type}`)
        }
        const fewer = yield* search(numbers, goods, 2)
        yield* must(fewer.length === 2, `it offered ${fewer.length} numbers instead of 2`)
        const none = yield* searchFor(numbers, { country: goods.noneIn ?? "ZZ", limit: 5 })
        yield* must(none.length === 0, `it offered ${numbersOf(none)} in ${goods.noneIn ?? "ZZ"}`)
      })
    ),
    selling("search offers only numbers of the area if offers name one", (numbers, goods) =>
      Effect.gen(function* () {
        const { country, type } = goods
        for (const { area, number } of yield* search(numbers, goods)) {
          if (area === null) continue
          const there = yield* searchFor(numbers, { country, type, area, limit: 5 })
          yield* must(there.length > 0, `it offers ${number} in ${area}, and nothing when asked for ${area}`)
          const elsewhere = there.find((offer) => offer.area !== area)
          yield* must(elsewhere === undefined, `asked for ${area}, it offered ${elsewhere?.number} of another area`)
        }
        const nowhere = yield* searchFor(numbers, { country, type, area: "no such place", limit: 5 })
        yield* must(nowhere.length === 0, `it offered ${numbersOf(nowhere)} in a place that does not exist`)
      })
    ),
    selling("purchase rents a number, which is then owned and no longer offered", (numbers, goods) =>
      Effect.gen(function* () {
        const number = yield* first(numbers, goods)
        const before = yield* owned(numbers)
        const rented = yield* buy(numbers, goods, newOrderKey(), number)
        yield* must(rented.number === number, `purchase of ${number} returned ${rented.number}`)
        yield* must(rented.carrier_id !== "", "carrier_id is empty")
        yield* rentsOnly(numbers, number, before)
        const offers = yield* search(numbers, goods)
        yield* must(!offers.some((offer) => offer.number === number), "it is still offered")
      })
    ),
    selling("purchase again with the same key gives the same answer and rents no second number", (numbers, goods) =>
      Effect.gen(function* () {
        const number = yield* first(numbers, goods)
        const before = yield* owned(numbers)
        const key = newOrderKey()
        yield* sameAnswer(yield* Effect.replicateEffect(buy(numbers, goods, key, number), 3))
        yield* rentsOnly(numbers, number, before)
      })
    ),
    selling("purchases with the same key at the same time rent one number", (numbers, goods) =>
      Effect.gen(function* () {
        const number = yield* first(numbers, goods)
        const before = yield* owned(numbers)
        const key = newOrderKey()
        const all = Effect.replicateEffect(buy(numbers, goods, key, number), 10, { concurrency: "unbounded" })
        yield* sameAnswer(yield* all)
        yield* rentsOnly(numbers, number, before)
      })
    ),
    selling("purchase with the same key succeeds after the first was interrupted", (numbers, goods) =>
      Effect.gen(function* () {
        const before = yield* owned(numbers)
        const number = yield* first(numbers, goods)
        const key = newOrderKey()
        // At several moments: before the order has reached the carrier, on its way, and afterwards.
        for (const wait of [Effect.void, Effect.yieldNow(), ...[1, 5, 15, 50].map((ms) => Effect.sleep(ms)), quiet]) {
          const fiber = yield* Effect.fork(buying(numbers, goods, key, number))
          yield* wait
          yield* within("interrupting purchase", Fiber.interrupt(fiber))
        }
        yield* sameAnswer(yield* Effect.replicateEffect(buy(numbers, goods, key, number), 2))
        yield* rentsOnly(numbers, number, before)
      })
    ),
    selling("purchase of a number that is already rented is refused and changes nothing", (numbers, goods) =>
      Effect.gen(function* () {
        const number = yield* first(numbers, goods)
        yield* buy(numbers, goods, newOrderKey(), number)
        const before = yield* owned(numbers)
        const error = yield* refusedPurchase(numbers, goods, number)
        yield* must(error.reason !== "", "the refusal has no reason")
        if (goods.refused !== undefined) yield* refusedPurchase(numbers, goods, goods.refused)
        const now = yield* owned(numbers)
        yield* must(now?.join() === before?.join(), `owned changed from [${before}] to [${now}]`)
      })
    ),
    selling("release ends the rent, also twice, and succeeds for an unknown number", (numbers, goods) =>
      Effect.gen(function* () {
        const before = yield* owned(numbers)
        const number = yield* first(numbers, goods)
        yield* buy(numbers, goods, newOrderKey(), number)
        const kept = (yield* search(numbers, goods))[0]?.number
        if (kept !== undefined) yield* buy(numbers, goods, newOrderKey(), kept)
        const key = newOrderKey()
        for (const again of [key, key, newOrderKey()]) yield* release(numbers, again, number)
        yield* release(numbers, newOrderKey(), goods.unknown ?? "+12025550142")
        const now = yield* owned(numbers)
        const rest = [...(before ?? []), ...(kept === undefined ? [] : [kept])].toSorted()
        yield* must(now === undefined || now.join() === rest.join(), `owned is [${now}] instead of [${rest}]`)
      })
    ),
    selling("release again with the same key does not end a later rent of the number", (numbers, goods) =>
      Effect.gen(function* () {
        const number = yield* first(numbers, goods)
        yield* buy(numbers, goods, newOrderKey(), number)
        const key = newOrderKey()
        yield* release(numbers, key, number)
        const again = yield* Effect.either(within("purchase", buying(numbers, goods, newOrderKey(), number)))
        if (again._tag === "Left") {
          // A carrier may keep a released number from sale for some time.
          return yield* again.left._tag === "CarrierRefused"
            ? Effect.void
            : Effect.asVoid(mustSucceed("purchase")(again))
        }
        const before = yield* owned(numbers)
        yield* release(numbers, key, number)
        const now = yield* owned(numbers)
        yield* must(now?.join() === before?.join(), `owned changed from [${before}] to [${now}]`)
      })
    )
  ]
}

/** Every operation of `numbers` on a carrier with a faulty peer. */
export const numbersOperations = (
  numbers: Numbers
): ReadonlyArray<readonly [string, Effect.Effect<unknown, CarrierRefused | CarrierUnavailable>]> => {
  const number = "+12025550142"
  return [
    ["search", Effect.suspend(() => numbers.search({ country: "US", limit: 5 }))],
    ["purchase", Effect.suspend(() => numbers.purchase({ key: newOrderKey(), number, address: null }))],
    ["release", Effect.suspend(() => numbers.release({ key: newOrderKey(), number }))],
    ...(numbers.owned === undefined ? [] : [["owned", numbers.owned] as const])
  ]
}
