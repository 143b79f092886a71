import { type CarrierUnavailable, isE164, type OwnedNumber } from "@svc/providers/Carrier"
import { type CarrierRequestFailed, carrierUnavailable } from "@svc/providers/CarrierApi"
import { Effect, Schema } from "effect"
import type { TelnyxApi } from "./TelnyxApi.ts"

const pageSize = 250
/** Pages that are read at most: 100,000 numbers. */
const mostPages = 400

/** `GET /phone_numbers`. */
const Page = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({ id: Schema.String, phone_number: Schema.String, status: Schema.optional(Schema.String) })
  ),
  meta: Schema.optional(Schema.Struct({ total_pages: Schema.optional(Schema.Number) }))
})
const decodePage = Schema.decodeUnknown(Page)

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
      (body) =>
        Effect.mapError(decodePage(body), () =>
          carrierUnavailable({ reason: "Telnyx answered with no list of phone numbers" })
        )
    )
  const owned = ({ data }: typeof Page.Type): ReadonlyArray<OwnedNumber> =>
    data.flatMap(({ id, phone_number: number, status = "active" }) =>
      isE164(number) && !gone.has(status) ? [{ number, carrier_id: id }] : []
    )
  return {
    find: (number) =>
      Effect.map(read({ "filter[phone_number]": number, "page[size]": String(pageSize) }), (page) =>
        owned(page).find((one) => one.number === number)
      ),
    all: Effect.gen(function* () {
      const numbers = new Map<string, OwnedNumber>()
      for (let page = 1; page <= mostPages; page++) {
        const answer = yield* read({ "page[size]": String(pageSize), "page[number]": String(page) })
        for (const one of owned(answer)) numbers.set(one.number, one)
        const pages = answer.meta?.total_pages ?? (answer.data.length < pageSize ? page : page + 1)
        if (page >= pages || answer.data.length === 0) break
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
