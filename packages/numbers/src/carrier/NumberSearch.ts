import { toNumber } from "@svc/api/Money"
import type { NumberForSale, NumberSearchQuery } from "@svc/api/numbers/NumberSearch"
import type { Tier } from "@svc/api/Principal"
import { Unavailable } from "@svc/api/VoiceError"
import { Rates } from "@svc/billing/Rates"
import type { Numbers, NumberType, OfferedNumber } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { Array as Arr, Context, Effect, Either, Layer, Option } from "effect"
import { PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"

/** A loaded telephony plugin whose carrier sells numbers. */
export interface Seller {
  /** Short name of the plugin. */
  readonly id: string
  readonly numbers: Numbers
}

/** The carriers that sell numbers, in the order of preference. */
export const sellersOf = ({ telephony }: typeof Providers.Service): ReadonlyArray<Seller> =>
  telephony.flatMap(({ id, numbers }) => (numbers === undefined ? [] : [{ id, numbers }]))

/** Without a carrier nothing can be found or bought. */
export const noSeller = new Unavailable({
  message: "No loaded telephony plugin sells phone numbers; load one in SVC_PLUGINS, or import a number"
})

/** The largest number of results that a carrier may be asked for. See docs/plugins.md. */
const maxOffered = 500

/** How many more than wanted a carrier is asked for at first: some may be taken here, by import for example. */
const spare = 20

type CarrierQuery = Parameters<Numbers["search"]>[0]

const carrierQuery = ({ area, country, type }: NumberSearchQuery, limit: number): CarrierQuery => ({
  country,
  limit,
  ...(area === undefined || area === "" ? {} : { area }),
  ...(type === undefined ? {} : { type })
})

/** The numbers that the carriers sell. */
export class NumberSearch extends Context.Tag("@svc/numbers/NumberSearch")<
  NumberSearch,
  {
    /**
     * Numbers for sale of all carriers, those of preferred carriers first, with the tier's price. A carrier that does
     * not answer is left out with a warning; `Unavailable` when none answers.
     */
    readonly search: (tier: Tier, query: NumberSearchQuery) => Effect.Effect<ReadonlyArray<NumberForSale>, Unavailable>
    /**
     * Who may sell a number: first the carriers that offer it, then the others in the order of preference, because a
     * carrier does not list everything that it sells.
     */
    readonly sellersFor: (
      number: string,
      facts: { readonly country: string; readonly type: NumberType }
    ) => Effect.Effect<readonly [string, ...ReadonlyArray<string>], Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<NumberSearch, never, PhoneNumbersRepo | Providers | Rates> = Layer.effect(
    NumberSearch,
    Effect.gen(function* () {
      const repo = yield* PhoneNumbersRepo
      const rates = yield* Rates
      const sellers = sellersOf(yield* Providers)

      /** The offers of each carrier, none for one that does not answer. */
      const offersOf = (query: CarrierQuery) =>
        Effect.forEach(
          sellers,
          ({ id, numbers }) =>
            Effect.either(
              Effect.tapError(numbers.search(query), ({ reason }) =>
                Effect.logWarning(`The search for numbers in ${query.country} leaves out ${id}: ${reason}`)
              )
            ).pipe(Effect.map((offers) => ({ id, offers: Either.getRight(offers) }))),
          { concurrency: "unbounded" }
        )

      /** The offers of all carriers that fit and are not taken here; each carrier is asked for `limit`. */
      const forSale = (query: NumberSearchQuery, limit: number) =>
        Effect.gen(function* () {
          const answers = yield* offersOf(carrierQuery(query, limit))
          if (answers.every(({ offers }) => Option.isNone(offers))) {
            return yield* new Unavailable({
              message: `No carrier could be asked for numbers (${sellers.map(({ id }) => id).join(", ")}); try again later`
            })
          }
          const lists = answers.map(({ offers }) => Option.getOrElse(offers, (): ReadonlyArray<OfferedNumber> => []))
          const offers = Arr.dedupeWith(lists.flat(), (one, other) => one.number === other.number)
          const taken = new Set(yield* repo.taken(offers.map(({ number }) => number)))
          return {
            free: offers.filter(
              ({ country, number, type }) =>
                country === query.country && (query.type === undefined || type === query.type) && !taken.has(number)
            ),
            mayHaveMore: limit < maxOffered && lists.some((list) => list.length >= limit)
          }
        })

      return {
        search: Effect.fn("NumberSearch.search")(function* (tier, query) {
          if (sellers.length === 0) return yield* noSeller
          const first = Math.min(maxOffered, query.limit + spare)
          const found = yield* forSale(query, first)
          // A carrier that has given as many as were asked for may have more.
          const isShort = found.free.length < query.limit && found.mayHaveMore
          const all = isShort ? yield* Effect.orElseSucceed(forSale(query, maxOffered), () => found) : found
          const monthly_cost_eur = toNumber(rates.number(tier))
          return all.free
            .slice(0, query.limit)
            .map(({ area, country, number, type }) => ({ number, country, type, area, monthly_cost_eur }))
        }),
        sellersFor: Effect.fn("NumberSearch.sellersFor")(function* (number, { country, type }) {
          const [first, ...others] = sellers.map(({ id }) => id)
          if (first === undefined) return yield* noSeller
          if (others.length === 0) return [first] as const
          const answers = yield* offersOf({ country, type, limit: maxOffered })
          const offering = answers.flatMap(({ id, offers }) =>
            Option.exists(offers, (found) => found.some((one) => one.number === number)) ? [id] : []
          )
          const [preferred = first, ...rest] = [...new Set([...offering, first, ...others])]
          return [preferred, ...rest] as const
        })
      }
    })
  )
}
