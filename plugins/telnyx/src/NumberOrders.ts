import { CarrierRefused, type CarrierUnavailable } from "@svc/providers/Carrier"
import { carrierError, carrierUnavailable } from "@svc/providers/CarrierApi"
import { Effect, Schema } from "effect"
import { listOf, rowsOf, type TelnyxApi } from "./TelnyxApi.ts"

/** The interval and the number of polls until an order is decided: 20 s in all. */
const pollEvery = "1 second"
const mostPolls = 20

const Order = Schema.Struct({
  id: Schema.String,
  /** `pending`, `success` or `failure`; without one it counts as pending. */
  status: Schema.optional(Schema.NullOr(Schema.String)),
  phone_numbers: Schema.optional(
    Schema.NullOr(Schema.Array(Schema.Struct({ requirements_met: Schema.optional(Schema.NullOr(Schema.Boolean)) })))
  )
})
type Order = typeof Order.Type
const decodeOne = Schema.decodeUnknown(Schema.Struct({ data: Order }))
const ordersOf = rowsOf(Order)

const noOrder = () => carrierUnavailable({ reason: "Telnyx answered with no number order" })

export interface NumberOrder {
  /** Also the reference of the order at Telnyx, by which it is found again. */
  readonly key: string
  readonly number: string
  readonly requirementGroup: string | undefined
  readonly connection: string | undefined
  readonly profile: string | undefined
}

/** The orders of numbers: `POST /number_orders`, found again by `customer_reference`. */
export interface NumberOrders {
  /** Orders the number, unless this key has ordered it already, and waits until the order is decided. */
  readonly place: (order: NumberOrder) => Effect.Effect<void, CarrierRefused | CarrierUnavailable>
}

export const make = (api: TelnyxApi): NumberOrders => {
  const byKey = (key: string): Effect.Effect<Order | undefined, CarrierUnavailable> =>
    Effect.gen(function* () {
      const body = yield* Effect.mapError(
        api.request({ method: "GET", path: "/number_orders", query: { "filter[customer_reference]": key } }),
        carrierUnavailable
      )
      const ofKey = listOf(body)?.filter((one) => Object(one).customer_reference === key)
      if (ofKey === undefined) return yield* noOrder()
      const orders = ordersOf(ofKey)
      // One that cannot be read may have bought the number.
      if (orders.length < ofKey.length) return yield* noOrder()
      // One that was refused may have been ordered again.
      return orders.find(({ status }) => status !== "failure") ?? orders[0]
    })

  const byId = (id: string): Effect.Effect<Order, CarrierUnavailable> =>
    Effect.flatMap(
      Effect.mapError(
        api.request({ method: "GET", path: `/number_orders/${encodeURIComponent(id)}` }),
        carrierUnavailable
      ),
      (body) => Effect.mapBoth(decodeOne(body), { onFailure: noOrder, onSuccess: ({ data }) => data })
    )

  const create = ({ connection, key, number, profile, requirementGroup }: NumberOrder) =>
    Effect.flatMap(
      api
        .request({
          method: "POST",
          path: "/number_orders",
          key,
          json: {
            phone_numbers: [
              {
                phone_number: number,
                ...(requirementGroup === undefined ? {} : { requirement_group_id: requirementGroup })
              }
            ],
            customer_reference: key,
            ...(connection === undefined ? {} : { connection_id: connection }),
            ...(profile === undefined ? {} : { messaging_profile_id: profile })
          },
          isRepeatable: false
        })
        .pipe(Effect.mapError(carrierError)),
      (body) => Effect.mapBoth(decodeOne(body), { onFailure: noOrder, onSuccess: ({ data }) => data })
    )

  const decided = (order: Order, polls = 0): Effect.Effect<void, CarrierRefused | CarrierUnavailable> => {
    if (order.status === "success") return Effect.void
    if (order.status === "failure") return Effect.fail(new CarrierRefused({ reason: "Telnyx has refused the order" }))
    const lacks = order.phone_numbers?.some(({ requirements_met }) => requirements_met === false) === true
    const waits = lacks ? "waits for documents or an address that the country demands" : "is not carried out yet"
    if (polls === mostPolls) return Effect.fail(carrierUnavailable({ reason: `the order at Telnyx ${waits}` }))
    return Effect.flatMap(Effect.delay(byId(order.id), pollEvery), (next) => decided(next, polls + 1))
  }

  return {
    place: (order) =>
      Effect.gen(function* () {
        const known = yield* byKey(order.key)
        if (known !== undefined) return yield* decided(known)
        const placed = yield* Effect.catchTag(create(order), "CarrierRefused", (refusal) =>
          // An order of this key whose answer was lost may be the reason of the refusal.
          Effect.flatMap(byKey(order.key), (found) => (found === undefined ? refusal : Effect.succeed(found)))
        )
        return yield* decided(placed)
      })
  }
}
