import { join } from "node:path"
import { isE164, type Numbers, type NumberType, type OfferedNumber } from "@svc/providers/Carrier"
import { carrierUnavailable } from "@svc/providers/CarrierApi"
import { Effect, Schema } from "effect"
import { KeyLocks } from "./KeyLocks.ts"
import * as NumberOrders from "./NumberOrders.ts"
import * as PhoneNumbers from "./PhoneNumbers.ts"
import * as ReleaseLog from "./ReleaseLog.ts"
import { groupFor } from "./RequirementGroups.ts"
import { listOf, rowsOf, type TelnyxApi } from "./TelnyxApi.ts"

const types: ReadonlyArray<NumberType> = ["local", "mobile", "toll_free"]

/** How often a number that was bought is looked up, once a second. */
const mostLooks = 4

const Text = Schema.optional(Schema.NullOr(Schema.String))

/** A row of `GET /available_phone_numbers`. */
const Available = Schema.Struct({
  phone_number: Schema.String,
  phone_number_type: Text,
  region_information: Schema.optional(
    Schema.NullOr(Schema.Array(Schema.Struct({ region_type: Text, region_name: Text })))
  )
})
type Available = typeof Available.Type
const availableOf = rowsOf(Available)

/** The place of a number: its city, else its rate center, else its state. */
const areaOf = ({ region_information: regions }: Available): string | null => {
  for (const type of ["location", "rate_center", "state"]) {
    const name = regions?.find(({ region_type }) => region_type === type)?.region_name
    if (name !== undefined && name !== null && name !== "") return name
  }
  return null
}

/** The numbers that Telnyx sells. `connection`: the application that gets the calls of a number that is bought. */
export const make = (options: {
  readonly api: TelnyxApi
  readonly folder: string
  readonly connection: Effect.Effect<string | undefined>
  readonly profile: string | undefined
}): Effect.Effect<Numbers> =>
  Effect.sync(() => {
    const { api, connection, folder, profile } = options
    const numbers = PhoneNumbers.make(api)
    const orders = NumberOrders.make(api)
    const releases = ReleaseLog.make(join(folder, "released"))
    const locks = new KeyLocks()

    const searchType = (type: NumberType, { area, country, limit }: Parameters<Numbers["search"]>[0]) => {
      const place =
        area === undefined
          ? {}
          : /^\d+$/.test(area)
            ? { "filter[national_destination_code]": area }
            : { "filter[locality]": area }
      const query = {
        "filter[country_code]": country,
        "filter[phone_number_type]": type,
        "filter[features]": "voice",
        "filter[limit]": String(limit),
        "filter[best_effort]": "false",
        ...place
      }
      return api.request({ method: "GET", path: "/available_phone_numbers", query }).pipe(
        Effect.catchAll((failure) =>
          // A country or place that Telnyx does not know is one without numbers.
          failure.outcome === "refused" ? Effect.succeed({ data: [] }) : Effect.fail(carrierUnavailable(failure))
        ),
        Effect.flatMap((body) => {
          const list = listOf(body)
          return list === undefined
            ? Effect.fail(carrierUnavailable({ reason: "Telnyx answered with no list of numbers for sale" }))
            : Effect.succeed(list)
        }),
        Effect.map(
          (list): ReadonlyArray<OfferedNumber> =>
            availableOf(list).flatMap((entry) => {
              const { phone_number: number, phone_number_type: foundType } = entry
              const isAnother = foundType !== undefined && foundType !== null && foundType !== type
              return isE164(number) && !isAnother ? [{ number, country, type, area: areaOf(entry) }] : []
            })
        )
      )
    }

    return {
      search: (query) =>
        Effect.map(
          Effect.forEach(query.type === undefined ? types : [query.type], (type) => searchType(type, query), {
            concurrency: "unbounded"
          }),
          (found) => {
            // A number that is found as several types is of the first one.
            const firsts = new Map<string, OfferedNumber>()
            for (const offer of found.flat()) if (!firsts.has(offer.number)) firsts.set(offer.number, offer)
            return [...firsts.values()].slice(0, query.limit)
          }
        ),
      purchase: ({ address, key, number }) =>
        Effect.gen(function* () {
          const submission = address?.submission_id ?? null
          const requirementGroup = submission === null ? undefined : yield* groupFor(api, submission, number)
          yield* orders.place({ key, number, requirementGroup, connection: yield* connection, profile })
          for (let looks = 0; looks < mostLooks; looks++) {
            const bought = yield* numbers.find(number)
            if (bought !== undefined) return bought
            yield* Effect.sleep("1 second")
          }
          return yield* carrierUnavailable({ reason: `Telnyx does not list ${number} yet, which was bought` })
        }).pipe(locks.within(`purchase ${key}`)),
      release: ({ key, number }) =>
        Effect.gen(function* () {
          let rent = yield* releases.rentOf(key)
          if (rent === undefined) {
            rent = (yield* numbers.find(number))?.carrier_id ?? null
            yield* releases.add(key, rent)
          }
          if (rent !== null) yield* numbers.remove(rent)
        }).pipe(locks.within(`release ${key}`)),
      owned: numbers.all
    }
  })
