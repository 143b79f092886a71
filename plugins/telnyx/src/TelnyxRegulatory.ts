import {
  type AddressVerdict,
  type CarrierAddress,
  CarrierRefused,
  type CarrierUnavailable,
  type NumberType,
  type Regulatory
} from "@svc/providers/Carrier"
import { carrierError, carrierUnavailable } from "@svc/providers/CarrierApi"
import type { Host } from "@svc/providers/Host"
import { Effect, Schema } from "effect"
import { KeyLocks } from "./KeyLocks.ts"
import { type Group, groupsOf, keyOf, submitGroup } from "./RequirementGroups.ts"
import { dataOf, listOf, type TelnyxApi } from "./TelnyxApi.ts"

const types: ReadonlyArray<NumberType> = ["local", "mobile", "toll_free"]

/** What an address must have for Telnyx. */
const fields: ReadonlyArray<keyof CarrierAddress> = ["customer_name", "street", "city", "postcode"]

/** An entry of `GET /regulatory_requirements`. */
const Requirement = Schema.Struct({
  phone_number_type: Schema.optional(Schema.NullOr(Schema.String)),
  action: Schema.optional(Schema.NullOr(Schema.String)),
  regulatory_requirements: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          id: Schema.String,
          name: Schema.optional(Schema.NullOr(Schema.String)),
          field_type: Schema.optional(Schema.NullOr(Schema.String))
        })
      )
    )
  )
})
const decodeRequirement = Schema.decodeUnknownEither(Requirement)

/** What one type of number requires. */
interface Demand {
  readonly type: NumberType
  readonly addressDemands: ReadonlyArray<string>
  /** Names of what an address does not meet, such as documents. */
  readonly others: ReadonlyArray<string>
}

const statuses: { readonly [status: string]: AddressVerdict["status"] } = {
  approved: "verified",
  declined: "rejected",
  expired: "expired"
}

const verdictOf = (type: NumberType, group: Group | undefined): AddressVerdict => {
  const status = statuses[group?.status ?? ""] ?? "pending"
  return {
    type,
    status,
    rejection_reason: status === "rejected" ? "Telnyx has declined the address; Mission Control says why" : null
  }
}

const nameOf = (name: string): { readonly first_name: string; readonly last_name: string } => {
  const words = name.trim().split(/\s+/)
  const last = words.length > 1 ? words.pop() : words[0]
  return { first_name: words.join(" "), last_name: last ?? name }
}

/**
 * The verification of addresses: an address at Telnyx, and for each type of number that requires one a requirement group with
 * that address. The submission is the id of the address, and its key the reference of both, so that they are found again.
 */
export const make = ({ api, log }: { readonly api: TelnyxApi; readonly log: Host["log"] }): Effect.Effect<Regulatory> =>
  Effect.sync(() => {
    const locks = new KeyLocks()
    /** Entries that the log names. */
    const skipped = new Set<string>()

    const skip = (country: string, index: number, type: unknown): void => {
      const entry = `${country} ${index}`
      if (skipped.has(entry)) return
      skipped.add(entry)
      log.warning(
        `The entry ${index} of Telnyx's regulatory requirements in ${country} (phone_number_type: ${JSON.stringify(type)}) ` +
          "cannot be read and is left out; a number may be refused for it: look at its requirements in Mission Control"
      )
    }

    const unreadable = (country: string) =>
      carrierUnavailable({ reason: `Telnyx's requirements in ${country} cannot be read` })

    /** What could be read. `isComplete`: there is no type of which only entries came that could not be read. */
    const readDemands = (
      country: string
    ): Effect.Effect<{ readonly demands: ReadonlyArray<Demand>; readonly isComplete: boolean }, CarrierUnavailable> =>
      Effect.gen(function* () {
        const body = yield* Effect.catchAll(
          api.request({
            method: "GET",
            path: "/regulatory_requirements",
            query: { "filter[country_code]": country, "filter[action]": "ordering" }
          }),
          (failure) =>
            failure.outcome === "refused" ? Effect.succeed({ data: [] }) : Effect.fail(carrierUnavailable(failure))
        )
        const entries = listOf(body)
        if (entries === undefined) {
          return yield* carrierUnavailable({ reason: "Telnyx answered with no list of regulatory requirements" })
        }
        /** The types of numbers whose requirements could not be read; of one without a type, all. */
        const unread = new Set<string>()
        const data = entries.flatMap((entry, index) => {
          const decoded = decodeRequirement(entry)
          if (decoded._tag === "Right") return [decoded.right]
          const type: unknown = Object(entry).phone_number_type
          skip(country, index, type)
          for (const one of typeof type === "string" && type !== "" ? [type] : types) unread.add(one)
          return []
        })
        if (data.length === 0 && entries.length > 0) return yield* unreadable(country)
        const demands = types.flatMap((type): ReadonlyArray<Demand> => {
          const all = data
            .filter(({ phone_number_type: of }) => of === type || of === null || of === undefined || of === "")
            .flatMap(({ regulatory_requirements: list }) => list ?? [])
          if (all.length === 0) return []
          const isAddress = ({ field_type }: (typeof all)[number]) => field_type === "address"
          return [
            {
              type,
              addressDemands: all.filter(isAddress).map(({ id }) => id),
              others: all.filter((one) => !isAddress(one)).map(({ id, name }) => name ?? id)
            }
          ]
        })
        const isUnknown = (type: string) => unread.has(type) && demands.every((demand) => demand.type !== type)
        return { demands, isComplete: !types.some(isUnknown) }
      })

    /** An address must not count as verified because what is required could not be read. */
    const demandsOf = (country: string): Effect.Effect<ReadonlyArray<Demand>, CarrierUnavailable> =>
      Effect.flatMap(readDemands(country), ({ demands, isComplete }) =>
        isComplete ? Effect.succeed(demands) : Effect.fail(unreadable(country))
      )

    const findAddress = (key: string): Effect.Effect<string | undefined, CarrierUnavailable> =>
      api.request({ method: "GET", path: "/addresses", query: { "filter[customer_reference][eq]": key } }).pipe(
        Effect.mapError(carrierUnavailable),
        Effect.flatMap((body) => {
          const list = listOf(body)
          if (list === undefined)
            return Effect.fail(carrierUnavailable({ reason: "Telnyx answered with no addresses" }))
          const id: unknown = Object(list.find((one) => Object(one).customer_reference === key)).id
          return Effect.succeed(id === undefined ? undefined : String(id))
        })
      )

    const createAddress = (key: string, address: CarrierAddress) =>
      api
        .request({
          method: "POST",
          path: "/addresses",
          key,
          json: {
            customer_reference: key,
            business_name: address.customer_name,
            ...nameOf(address.customer_name),
            street_address: address.street,
            locality: address.city,
            ...(address.region === null ? {} : { administrative_area: address.region }),
            postal_code: address.postcode,
            country_code: address.country,
            address_book: false,
            validate_address: false
          }
        })
        .pipe(
          Effect.mapError(carrierError),
          Effect.flatMap((body) => {
            const { id } = Object(dataOf(body))
            return id === undefined
              ? Effect.fail(carrierUnavailable({ reason: "Telnyx answered with no address" }))
              : Effect.succeed(String(id))
          })
        )

    return {
      requirements: (country) =>
        Effect.map(readDemands(country), ({ demands }) => ({
          fields: demands.length === 0 ? [] : fields,
          number_types: demands.map(({ type }) => type)
        })),
      submit: ({ address, key }) =>
        Effect.gen(function* () {
          const missing = fields.filter((field) => (address[field] ?? "").trim() === "")
          if (missing.length > 0) {
            return yield* new CarrierRefused({ reason: `the address lacks ${missing.join(", ")}` })
          }
          const demands = yield* demandsOf(address.country)
          const addressId = (yield* findAddress(key)) ?? (yield* createAddress(key, address))
          const groups = yield* groupsOf(
            api,
            key,
            address.country,
            demands.map(({ type }) => type)
          )
          for (const { addressDemands, others, type } of demands) {
            if (others.length > 0) {
              log.warning(
                `Telnyx demands more than an address for ${type} numbers in ${address.country}: ${others.join(", ")}. Complete the requirement group in Mission Control`
              )
            }
            const { country } = address
            yield* submitGroup(api, { key, country, type, addressId, addressDemands, existing: groups.get(type) })
          }
          return { submission_id: addressId }
        }).pipe(locks.within(key)),
      status: (submissionId) =>
        Effect.gen(function* () {
          const { country, key } = yield* keyOf(api, submissionId)
          const demands = yield* demandsOf(country)
          // Where nothing is required, every address is accepted.
          if (demands.length === 0) {
            return types.map((type) => ({ type, status: "verified", rejection_reason: null }) as const)
          }
          const groups = yield* groupsOf(
            api,
            key,
            country,
            demands.map(({ type }) => type)
          )
          return demands.map(({ type }) => verdictOf(type, groups.get(type)))
        })
    }
  })
