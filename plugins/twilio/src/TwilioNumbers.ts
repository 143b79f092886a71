import { createHash } from "node:crypto"
import {
  CarrierRefused,
  type CarrierUnavailable,
  isE164,
  type Numbers,
  type NumberType,
  type OfferedNumber,
  type OwnedNumber
} from "@svc/providers/Carrier"
import { carrierError, carrierUnavailable } from "@svc/providers/CarrierApi"
import type { Host } from "@svc/providers/Host"
import { Effect, type Scope } from "effect"
import * as ReleaseLog from "./ReleaseLog.ts"
import * as RunningOrders from "./RunningOrders.ts"
import type { TwilioApi } from "./TwilioApi.ts"
import type { TwilioRegulatory } from "./TwilioRegulatory.ts"
import type { Webhooks } from "./Webhook.ts"

/** The types of number as resources of `AvailablePhoneNumbers`. */
const resources: { readonly [T in NumberType]: string } = { local: "Local", mobile: "Mobile", toll_free: "TollFree" }
const types: ReadonlyArray<NumberType> = ["local", "mobile", "toll_free"]

/** Numbers of a page, and pages at most: 100,000 numbers. */
const pageSize = "1000"
const mostPages = 100

/** The name under which Twilio keeps our key: at most 64 characters. */
export const friendlyName = (key: string): string =>
  `svc ${key.length <= 60 ? key : createHash("sha256").update(key).digest("hex").slice(0, 60)}`

/** The list in a field of an answer, or the error of an answer of another shape. */
export const listIn = (body: unknown, field: string): Effect.Effect<ReadonlyArray<unknown>, CarrierUnavailable> => {
  const list: unknown = Object(body)[field]
  return Array.isArray(list) ? Effect.succeed(list) : carrierUnavailable({ reason: `Twilio's answer has no ${field}` })
}

/** A rented number as Twilio lists it. */
interface Rent {
  readonly sid: string
  readonly number: string
  readonly name: string
}

const rentsOf = (body: unknown): Effect.Effect<ReadonlyArray<Rent>, CarrierUnavailable> =>
  Effect.map(listIn(body, "incoming_phone_numbers"), (list) =>
    list.flatMap((one) => {
      const { friendly_name, phone_number, sid } = Object(one)
      return typeof sid === "string" && isE164(String(phone_number))
        ? [{ sid, number: String(phone_number), name: String(friendly_name) }]
        : []
    })
  )

/** The filter for an area code or a place. */
const areaFilter = (country: string, area: string | undefined) => {
  if (area === undefined) return {}
  if (!/^\d+$/.test(area)) return { InLocality: area }
  // Area codes are known only in North America; elsewhere the digits of the number are compared.
  if (/^(US|CA)$/.test(country)) return area.length === 3 ? { AreaCode: area } : { Contains: area }
  // Numbers in E.164 have no trunk prefix, except in Italy's numbering plan.
  return { Contains: /^(IT|SM|VA)$/.test(country) ? area : area.replace(/^0(?=\d)/, "") }
}

/** The numbers of the account. The key of a purchase is kept by Twilio, as the number's friendly name. */
export const make = (options: {
  readonly api: TwilioApi
  readonly webhooks: Webhooks
  readonly regulatory: TwilioRegulatory
  readonly host: Host
}): Effect.Effect<Numbers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, host, regulatory, webhooks } = options
    const purchases = yield* RunningOrders.make<OwnedNumber, CarrierRefused | CarrierUnavailable>()
    const endings = yield* RunningOrders.make<void, CarrierUnavailable>()
    const releases = yield* ReleaseLog.make(host)

    const available = (country: string, type: NumberType, query: { readonly [name: string]: string }) =>
      api.request("GET", `AvailablePhoneNumbers/${encodeURIComponent(country)}/${resources[type]}.json`, query).pipe(
        Effect.flatMap((body) => listIn(body, "available_phone_numbers")),
        // A country or a type of which Twilio sells nothing.
        Effect.catchIf(
          (error) => error._tag === "CarrierRequestFailed" && error.outcome === "refused",
          () => Effect.succeed([])
        ),
        Effect.mapError(carrierUnavailable),
        Effect.map((list) =>
          list.flatMap((one): ReadonlyArray<OfferedNumber> => {
            const { iso_country, locality, phone_number } = Object(one)
            if (!isE164(String(phone_number))) return []
            const area = typeof locality === "string" && locality !== "" ? locality : null
            return [{ number: String(phone_number), country: String(iso_country ?? country), type, area }]
          })
        )
      )

    const rentsOfNumber = (number: string) =>
      api.request("GET", "IncomingPhoneNumbers.json", { PhoneNumber: number }).pipe(
        Effect.mapError(carrierUnavailable),
        Effect.flatMap(rentsOf),
        Effect.map((rents) => rents.find((rent) => rent.number === number))
      )

    /** What Twilio requires with a number: the address, and the bundle of its type. */
    const compliance = (order: Parameters<Numbers["purchase"]>[0]) =>
      Effect.gen(function* () {
        if (order.address === null) return {}
        const { country, submission_id } = order.address
        if (submission_id === null) return { AddressSid: yield* regulatory.addressSid(order.key, order.address) }
        const submission = regulatory.parse(submission_id)
        if (submission === undefined) return {}
        const { addressSid, bundles } = submission
        if (bundles.length === 1) return { AddressSid: addressSid, BundleSid: bundles[0]?.sid }
        for (const { sid, type } of bundles) {
          const offers = yield* available(country, type, { Contains: order.number, PageSize: "1" })
          if (offers.some(({ number }) => number === order.number)) return { AddressSid: addressSid, BundleSid: sid }
        }
        return { AddressSid: addressSid }
      })

    const rented = ({ number, sid }: Rent): OwnedNumber => ({ number, carrier_id: sid })

    const buy = (order: Parameters<Numbers["purchase"]>[0]) =>
      Effect.gen(function* () {
        const { key, number } = order
        const name = friendlyName(key)
        const mine = Effect.map(rentsOfNumber(number), (rent) => (rent?.name === name ? rented(rent) : undefined))
        const before = yield* rentsOfNumber(number)
        if (before !== undefined) {
          if (before.name === name) return rented(before)
          return yield* new CarrierRefused({ reason: `${number} is already rented by this account of Twilio.` })
        }
        const bought = yield* Effect.either(
          api.request("POST", "IncomingPhoneNumbers.json", {
            PhoneNumber: number,
            FriendlyName: name,
            ...(host.baseUrl !== null && {
              VoiceUrl: webhooks.url("/voice"),
              VoiceMethod: "POST",
              StatusCallback: webhooks.url("/status"),
              StatusCallbackMethod: "POST",
              SmsUrl: webhooks.url("/sms"),
              SmsMethod: "POST"
            }),
            ...(yield* compliance(order))
          })
        )
        if (bought._tag === "Left" && bought.left.outcome !== "unknown") return yield* carrierError(bought.left)
        const sid: unknown = bought._tag === "Right" ? Object(bought.right).sid : undefined
        if (typeof sid === "string") return { number, carrier_id: sid }
        // The answer was lost: Twilio knows.
        const found = yield* mine
        if (found !== undefined) return found
        return yield* carrierUnavailable({
          reason: bought._tag === "Left" ? bought.left.reason : "Twilio's answer to a purchase has no sid"
        })
      })

    const endRent = (key: string, number: string) =>
      Effect.gen(function* () {
        let rent = releases.rentOf(key)
        if (rent === undefined) {
          rent = (yield* rentsOfNumber(number))?.sid ?? null
          yield* releases.add(key, rent)
        }
        if (rent === null) return
        yield* api.request("DELETE", `IncomingPhoneNumbers/${rent}.json`).pipe(
          Effect.catchIf(
            ({ status }) => status === 404,
            () => Effect.void
          ),
          Effect.mapError(carrierUnavailable)
        )
      })

    const owned = Effect.gen(function* () {
      const all: Array<OwnedNumber> = []
      let next: string | undefined = "IncomingPhoneNumbers.json"
      for (let page = 0; next !== undefined && page < mostPages; page++) {
        const body: unknown = yield* Effect.mapError(
          api.request("GET", next, page === 0 ? { PageSize: pageSize } : {}),
          carrierUnavailable
        )
        all.push(...(yield* rentsOf(body)).map(rented))
        const following: unknown = Object(body).next_page_uri
        next = typeof following === "string" && following.startsWith("/2010-04-01/") ? following : undefined
      }
      return all
    })

    return {
      search: ({ area, country, limit, type }) =>
        Effect.map(
          Effect.forEach(type === undefined ? types : [type], (one) =>
            available(country, one, { PageSize: String(limit), VoiceEnabled: "true", ...areaFilter(country, area) })
          ),
          (lists) => lists.flat().slice(0, limit)
        ),
      purchase: (order) => purchases.run(order.key, order.number, buy(order)),
      release: ({ key, number }) => endings.run(key, number, endRent(key, number)),
      owned
    }
  })
