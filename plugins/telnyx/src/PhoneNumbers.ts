import { type CarrierUnavailable, isE164, type OwnedNumber } from "@svc/providers/Carrier"
import { type CarrierRequestFailed, carrierUnavailable } from "@svc/providers/CarrierApi"
import { Effect, Schema } from "effect"
import { listOf, rowsOf, type TelnyxApi } from "./TelnyxApi.ts"

const pageSize = 250
/** Pages that are read at most: 100,000 numbers. */
const mostPages = 400

/** A row of `GET /phone_numbers`. */
const Row = Schema.Struct({
  id: Schema.String,
  phone_number: Schema.String,
  status: Schema.optional(Schema.NullOr(Schema.String))
})
const numbersOf = rowsOf(Row)

interface Page {
  readonly rows: ReadonlyArray<unknown>
  /** Undefined: Telnyx does not say. */
  readonly pages: number | undefined
}

const pageOf = (body: unknown): Page | undefined => {
  const rows = listOf(body)
  const { total_pages: pages } = Object(Object(body).meta)
  return rows && { rows, pages: typeof pages === "number" ? pages : undefined }
}

/** States of numbers that the account does not have, or not any more. */
const gone: ReadonlySet<string> = new Set([
  "deleted",
  "ported-out",
  "purchase-failed",
  "purchase-pending",
  "port-failed"
])

/** The numbers of the account. */
export interface PhoneNumbers {
  readonly find: (number: string) => Effect.Effect<OwnedNumber | undefined, CarrierUnavailable>
  readonly all: Effect.Effect<ReadonlyArray<OwnedNumber>, CarrierUnavailable>
  /** Ends the rent of the number with this id. False: there is none. */
  readonly remove: (id: string) => Effect.Effect<boolean, CarrierUnavailable>
}

export const make = (api: TelnyxApi): PhoneNumbers => {
  const read = (query: Readonly<Record<string, string>>) =>
    Effect.flatMap(
      Effect.mapError(api.request({ method: "GET", path: "/phone_numbers", query }), carrierUnavailable),
      (body) => {
        const page = pageOf(body)
        return page === undefined
          ? Effect.fail(carrierUnavailable({ reason: "Telnyx answered with no list of phone numbers" }))
          : Effect.succeed(page)
      }
    )
  const owned = ({ rows }: Page): ReadonlyArray<OwnedNumber> =>
    numbersOf(rows).flatMap(({ id, phone_number: number, status }) =>
      isE164(number) && !gone.has(status ?? "active") ? [{ number, carrier_id: id }] : []
    )
  return {
    find: (number) =>
      Effect.flatMap(read({ "filter[phone_number]": number, "page[size]": String(pageSize) }), (page) => {
        const found = owned(page).find((one) => one.number === number)
        // A row that cannot be read does not mean that the number is not rented.
        const ofNumber = page.rows.filter((row) => Object(row).phone_number === number)
        return found === undefined && numbersOf(ofNumber).length < ofNumber.length
          ? Effect.fail(carrierUnavailable({ reason: `Telnyx lists ${number} without an id` }))
          : Effect.succeed(found)
      }),
    all: Effect.gen(function* () {
      const numbers = new Map<string, OwnedNumber>()
      for (let page = 1; page <= mostPages; page++) {
        const answer = yield* read({ "page[size]": String(pageSize), "page[number]": String(page) })
        for (const one of owned(answer)) numbers.set(one.number, one)
        const pages = answer.pages ?? (answer.rows.length < pageSize ? page : page + 1)
        if (page >= pages || answer.rows.length === 0) break
      }
      return [...numbers.values()]
    }),
    remove: (id) =>
      api.request({ method: "DELETE", path: `/phone_numbers/${encodeURIComponent(id)}` }).pipe(
        Effect.as(true),
        Effect.catchAll((failure: CarrierRequestFailed) =>
          failure.status === 404 ? Effect.succeed(false) : Effect.fail(carrierUnavailable(failure))
        )
      )
  }
}
