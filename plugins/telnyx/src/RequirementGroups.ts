import { CarrierRefused, type CarrierUnavailable, type NumberType } from "@svc/providers/Carrier"
import { carrierError, carrierUnavailable } from "@svc/providers/CarrierApi"
import { Effect, Schema } from "effect"
import { dataOf, listOf, rowsOf, type TelnyxApi } from "./TelnyxApi.ts"

const Text = Schema.optional(Schema.NullOr(Schema.String))

/** The group of requirements for numbers of one type and country ("Requirement Groups"). */
const Group = Schema.Struct({
  id: Schema.String,
  phone_number_type: Text,
  customer_reference: Text,
  status: Text
})
export type Group = typeof Group.Type
const readGroups = rowsOf(Group)
const decodeGroup = Schema.decodeUnknown(Group)

const noGroup = () => carrierUnavailable({ reason: "Telnyx answered with no requirement group" })

/** The reference by which the group of an address is found again: its key and the type of number. */
const referenceOf = (key: string, type: NumberType): string => `${key}:${type}`

/** Lists come as they are or in `data`. */
const itemsOf = (body: unknown): ReadonlyArray<unknown> | undefined => (Array.isArray(body) ? body : listOf(body))

/** The groups that were made for a submission with this key. */
export const groupsOf = (
  api: TelnyxApi,
  key: string,
  country: string,
  types: ReadonlyArray<NumberType>
): Effect.Effect<ReadonlyMap<NumberType, Group>, CarrierUnavailable> =>
  Effect.gen(function* () {
    const found = new Map<NumberType, Group>()
    for (const type of types) {
      const reference = referenceOf(key, type)
      const body = yield* Effect.mapError(
        api.request({
          method: "GET",
          path: "/requirement_groups",
          query: {
            "filter[country_code]": country,
            "filter[phone_number_type]": type,
            "filter[action]": "ordering",
            "filter[customer_reference]": reference
          }
        }),
        carrierUnavailable
      )
      const items = itemsOf(body)
      if (items === undefined) return yield* noGroup()
      const group = readGroups(items).find(({ customer_reference }) => customer_reference === reference)
      if (group !== undefined) found.set(type, group)
    }
    return found
  })

/** Makes the group for one type of number, with the address for the demands that are addresses, and has it examined. */
export const submitGroup = (
  api: TelnyxApi,
  options: {
    readonly key: string
    readonly country: string
    readonly type: NumberType
    readonly addressId: string
    /** The ids of the requirements that an address meets. */
    readonly addressDemands: ReadonlyArray<string>
    readonly existing: Group | undefined
  }
): Effect.Effect<void, CarrierRefused | CarrierUnavailable> =>
  Effect.gen(function* () {
    const { addressDemands, addressId, country, existing, key, type } = options
    const reference = referenceOf(key, type)
    const group =
      existing ??
      (yield* api
        .request({
          method: "POST",
          path: "/requirement_groups",
          key: reference,
          json: {
            country_code: country,
            phone_number_type: type,
            action: "ordering",
            customer_reference: reference,
            regulatory_requirements: addressDemands.map((id) => ({ requirement_id: id, field_value: addressId }))
          }
        })
        .pipe(
          Effect.mapError(carrierError),
          Effect.flatMap((body) => Effect.mapError(decodeGroup(dataOf(body) ?? body), noGroup))
        ))
    if ((group.status ?? "unapproved") !== "unapproved") return
    yield* api
      .request({ method: "POST", path: `/requirement_groups/${encodeURIComponent(group.id)}/submit_for_approval` })
      .pipe(
        Effect.catchAll((failure) =>
          failure.outcome === "refused"
            ? // Documents are missing, which the operator adds in Mission Control.
              Effect.logWarning(
                `Telnyx does not examine requirement group ${group.id} (${country}, ${type}) yet: ${failure.reason}. Complete it in Mission Control`
              )
            : Effect.fail(carrierUnavailable(failure))
        )
      )
  })

/** Groups with these states cannot be used for an order. */
const unusable: ReadonlySet<string> = new Set(["declined", "expired"])

/**
 * The group of a submission with which a number is ordered, for the number's type. With one that is not approved yet the
 * order is pending at Telnyx until it is.
 */
export const groupFor = (
  api: TelnyxApi,
  submissionId: string,
  number: string
): Effect.Effect<string | undefined, CarrierRefused | CarrierUnavailable> =>
  Effect.gen(function* () {
    const { country, key } = yield* keyOf(api, submissionId)
    const groups = yield* groupsOf(api, key, country, ["local", "mobile", "toll_free"])
    const usable = [...groups.values()].filter(({ status }) => !unusable.has(status ?? ""))
    if (usable.length < 2) return usable[0]?.id
    const type = yield* typeOf(api, number)
    const ofType = usable.find(({ phone_number_type }) => phone_number_type === type)
    return (ofType ?? usable.find(({ status }) => status === "approved") ?? usable[0])?.id
  })

/** The type of a number that is for sale. */
const typeOf = (api: TelnyxApi, number: string): Effect.Effect<string | undefined> =>
  api
    .request({
      method: "GET",
      path: "/regulatory_requirements",
      query: { "filter[phone_number]": number, "filter[action]": "ordering" }
    })
    .pipe(
      Effect.map((body) => {
        const type: unknown = Object(listOf(body)?.[0]).phone_number_type
        return typeof type === "string" ? type : undefined
      }),
      Effect.orElseSucceed(() => undefined)
    )

/** The key of a submission, which Telnyx keeps as the reference of its address. */
export const keyOf = (
  api: TelnyxApi,
  submissionId: string
): Effect.Effect<{ readonly key: string; readonly country: string }, CarrierRefused | CarrierUnavailable> =>
  api.request({ method: "GET", path: `/addresses/${encodeURIComponent(submissionId)}` }).pipe(
    Effect.mapError((failure) =>
      failure.status === 404 || failure.status === 422
        ? new CarrierRefused({ reason: "Telnyx does not know this address" })
        : carrierUnavailable(failure)
    ),
    Effect.flatMap((body) => {
      const data: unknown = dataOf(body)
      const { country_code: country, customer_reference: key } = Object(data)
      return typeof key === "string" && key !== "" && typeof country === "string"
        ? Effect.succeed({ key, country })
        : Effect.fail(carrierUnavailable({ reason: "Telnyx answered with no address of this platform" }))
    })
  )
