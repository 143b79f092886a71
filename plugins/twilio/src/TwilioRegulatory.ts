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
import { Clock, Effect, type Scope } from "effect"
import * as RunningOrders from "./RunningOrders.ts"
import type { Form, TwilioApi } from "./TwilioApi.ts"
import { friendlyName, listIn } from "./TwilioNumbers.ts"

const numberTypes: { readonly [type: string]: NumberType | undefined } = {
  local: "local",
  mobile: "mobile",
  "toll-free": "toll_free",
  toll_free: "toll_free"
}

/** The verdicts of an address in a country without regulations: Twilio sells each type of number with it. */
const unregulated = (["local", "mobile", "toll_free"] as const).map(
  (type): AddressVerdict => ({ type, status: "verified", rejection_reason: null })
)

/** What Twilio requires of every address. Its region may be left out; the city takes its place. */
const fields = ["customer_name", "street", "city", "postcode", "country"] as const

/** Pages of a list that are read at most. */
const mostPages = 100

/** A regulation of a country for one type of number. */
interface Regulation {
  readonly sid: string
  readonly type: NumberType
  /** The type of end user, and of documents that prove an address. */
  readonly endUser: string | undefined
  readonly documents: ReadonlyArray<string>
}

/** A submission: the address, and a bundle for each type of number. */
interface Submission {
  readonly addressSid: string
  readonly bundles: ReadonlyArray<{ readonly type: NumberType; readonly sid: string }>
}

export interface TwilioRegulatory extends Regulatory {
  readonly parse: (submissionId: string) => Submission | undefined
  /** The address at Twilio for a key, made when there is none. */
  readonly addressSid: (
    key: string,
    address: CarrierAddress
  ) => Effect.Effect<string, CarrierRefused | CarrierUnavailable>
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const regulationOf = (value: unknown): ReadonlyArray<Regulation> => {
  const { number_type, requirements, sid } = Object(value)
  const type = numberTypes[String(number_type)]
  if (type === undefined || typeof sid !== "string") return []
  const { end_user, supporting_document } = Object(requirements)
  const accepted = list(supporting_document)
    .flat()
    .flatMap((demand) => list(Object(demand).accepted_documents).slice(0, 1))
  return [
    {
      sid,
      type,
      endUser: text(Object(list(end_user)[0]).type),
      documents: accepted.flatMap((document) => text(Object(document).type) ?? [])
    }
  ]
}

const parse = (submissionId: string): Submission | undefined => {
  const [addressSid = "", ...bundles] = submissionId.split(".")
  if (!/^AD\w+$/.test(addressSid)) return undefined
  return {
    addressSid,
    bundles: bundles.flatMap((one) => {
      const [type = "", sid = ""] = one.split("-")
      const known = numberTypes[type]
      return known === undefined ? [] : [{ type: known, sid }]
    })
  }
}

const written = ({ addressSid, bundles }: Submission): string =>
  [addressSid, ...bundles.map(({ sid, type }) => `${type}-${sid}`)].join(".")

/**
 * Addresses and regulatory bundles. What is made has our key as its friendly name, so that a repetition finds it. A
 * country that requires documents keeps its bundle as a draft, until the operator adds them in Twilio's console.
 */
export const make = (options: {
  readonly api: TwilioApi
  readonly host: Host
}): Effect.Effect<TwilioRegulatory, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, host } = options
    const orders = yield* RunningOrders.make<{ readonly submission_id: string }, CarrierRefused | CarrierUnavailable>()
    /** Twilio writes to it about the review. */
    const email = `regulatory@${host.baseUrl === null ? "localhost" : new URL(host.baseUrl).hostname}`

    const regulations = (country: string) =>
      api.regulatory("GET", "Regulations", { IsoCountry: country, EndUserType: "business", PageSize: "50" }).pipe(
        Effect.flatMap((body) => listIn(body, "results")),
        Effect.catchIf(
          (error) => error._tag === "CarrierRequestFailed" && error.outcome === "refused",
          () => Effect.succeed([])
        ),
        Effect.mapError(carrierUnavailable),
        Effect.map((results) => {
          const found = new Map<NumberType, Regulation>()
          for (const one of results.flatMap(regulationOf)) if (!found.has(one.type)) found.set(one.type, one)
          return [...found.values()]
        })
      )

    const sidIn = (body: unknown): Effect.Effect<string, CarrierUnavailable> => {
      const sid = text(Object(body).sid)
      return sid === undefined ? carrierUnavailable({ reason: "Twilio's answer has no sid" }) : Effect.succeed(sid)
    }
    /** The SID of what has a name, or of what is made with it. */
    const findOrMake = (what: {
      readonly request: TwilioApi["request"]
      readonly resource: string
      readonly field: string
      readonly name: string
      /** Whether Twilio can search it by its friendly name; otherwise all of it is read. */
      readonly hasNameFilter: boolean
      readonly form: Form
    }) =>
      Effect.gen(function* () {
        const { field, form, hasNameFilter, name, request, resource } = what
        let page: string | undefined = resource
        for (let n = 0; page !== undefined && n < mostPages; n++) {
          const query = n === 0 ? { PageSize: "1000", ...(hasNameFilter && { FriendlyName: name }) } : {}
          const body: unknown = yield* Effect.mapError(request("GET", page, query), carrierUnavailable)
          const found = (yield* listIn(body, field)).find((one) => Object(one).friendly_name === name)
          if (found !== undefined) return yield* sidIn(found)
          page = api.nextRegulatory(body)
        }
        const made = yield* Effect.mapError(request("POST", resource, { ...form, FriendlyName: name }), carrierError)
        return yield* sidIn(made)
      })

    const addressSid: TwilioRegulatory["addressSid"] = (key, address) =>
      findOrMake({
        request: api.request,
        resource: "Addresses.json",
        field: "addresses",
        name: friendlyName(key),
        hasNameFilter: true,
        form: {
          CustomerName: address.customer_name,
          Street: address.street,
          City: address.city,
          Region: address.region ?? address.city,
          PostalCode: address.postcode,
          IsoCountry: address.country
        }
      })

    /** A bundle with what we know of the customer, submitted for review. */
    const bundleSid = (key: string, address: CarrierAddress, addressSid: string, regulation: Regulation) =>
      Effect.gen(function* () {
        const name = friendlyName(`${key} ${regulation.type}`)
        const { regulatory: request } = api
        const sid = yield* findOrMake({
          request,
          resource: "Bundles",
          field: "results",
          name,
          hasNameFilter: true,
          form: { Email: email, RegulationSid: regulation.sid }
        })
        const bundle = yield* Effect.mapError(request("GET", `Bundles/${sid}`), carrierUnavailable)
        if (Object(bundle).status !== "draft") return sid
        const items: Array<string> = []
        const unnamed = { request, field: "results", hasNameFilter: false }
        if (regulation.endUser !== undefined) {
          const attributes = JSON.stringify({ business_name: address.customer_name })
          const form = { Type: regulation.endUser, Attributes: attributes }
          items.push(yield* findOrMake({ ...unnamed, resource: "EndUsers", name, form }))
        }
        for (const Type of new Set(regulation.documents)) {
          const form = { Type, Attributes: JSON.stringify({ address_sids: [addressSid] }) }
          const document = `${name.slice(0, 30)} ${Type}`.slice(0, 64)
          items.push(yield* findOrMake({ ...unnamed, resource: "SupportingDocuments", name: document, form }))
        }
        for (const ObjectSid of items) {
          // One that is assigned already is refused.
          yield* request("POST", `Bundles/${sid}/ItemAssignments`, { ObjectSid }).pipe(
            Effect.catchIf(
              ({ outcome }) => outcome === "refused",
              () => Effect.void
            ),
            Effect.mapError(carrierUnavailable)
          )
        }
        yield* request("POST", `Bundles/${sid}`, { Status: "pending-review" }, { isRepeatable: true }).pipe(
          Effect.catchIf(
            ({ outcome }) => outcome === "refused",
            ({ reason }) =>
              Effect.logWarning(
                `Twilio needs more for the bundle ${sid}: add it in its console, at Regulatory Compliance: ${reason}`
              )
          ),
          Effect.mapError(carrierUnavailable)
        )
        return sid
      })

    const submit = (key: string, address: CarrierAddress) =>
      Effect.gen(function* () {
        const lacking = fields.filter((field) => address[field].trim() === "")
        if (lacking.length > 0) return yield* new CarrierRefused({ reason: `The address lacks ${lacking.join(", ")}.` })
        const found = yield* regulations(address.country)
        const sid = yield* addressSid(key, address)
        const bundles = yield* Effect.forEach(found, (regulation) =>
          Effect.map(bundleSid(key, address, sid, regulation), (bundle) => ({ type: regulation.type, sid: bundle }))
        )
        return { submission_id: written({ addressSid: sid, bundles }) }
      })

    const verdictOf = (type: NumberType, sid: string, now: number, body: unknown): AddressVerdict => {
      const { status, valid_until } = Object(body)
      const until = text(valid_until)
      if (status === "twilio-rejected") {
        const rejection_reason = `Twilio has rejected it; its console says why, at the bundle ${sid}.`
        return { type, status: "rejected", rejection_reason }
      }
      if (status !== "twilio-approved" && status !== "provisionally-approved") {
        return { type, status: "pending", rejection_reason: null }
      }
      const isExpired = until !== undefined && Date.parse(until) < now
      return { type, status: isExpired ? "expired" : "verified", rejection_reason: null }
    }

    return {
      parse,
      addressSid,
      requirements: (country) =>
        Effect.map(regulations(country), (found) => ({
          fields: found.length === 0 ? [] : fields,
          number_types: found.map(({ type }) => type)
        })),
      submit: ({ address, key }) => orders.run(key, key, submit(key, address)),
      status: (submissionId) =>
        Effect.gen(function* () {
          const submission = parse(submissionId)
          if (submission === undefined || submission.bundles.length === 0) {
            // Twilio knows whether it exists.
            const known = `Addresses/${encodeURIComponent(submission?.addressSid ?? submissionId)}.json`
            const body = yield* Effect.mapError(api.request("GET", known), carrierError)
            yield* sidIn(body)
            // Nothing was to be verified: no type of number has a regulation.
            if (submission !== undefined) return unregulated
            return yield* new CarrierRefused({ reason: `${submissionId} is no submission at Twilio.` })
          }
          const now = yield* Clock.currentTimeMillis
          return yield* Effect.forEach(submission.bundles, ({ sid, type }) =>
            api.regulatory("GET", `Bundles/${sid}`).pipe(
              Effect.mapError(carrierError),
              Effect.flatMap((body) =>
                text(Object(body).status) === undefined
                  ? carrierUnavailable({ reason: `Twilio's answer about the bundle ${sid} has no status` })
                  : Effect.succeed(verdictOf(type, sid, now, body))
              )
            )
          )
        })
    }
  })
