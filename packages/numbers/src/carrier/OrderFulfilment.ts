import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import { Projects } from "@svc/auth/Projects"
import { Holds, type Purpose } from "@svc/billing/Holds"
import { atomically } from "@svc/database/Transaction"
import { CarrierUnavailable, type OwnedNumber } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, Cause, Context, Effect, type Fiber, FiberSet, Layer, Option } from "effect"
import { numberFactsOf } from "../NumberPlan.ts"
import { type NumberRow, PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"
import { NumberOrdersRepo, type OrderRow } from "./NumberOrdersRepo.ts"
import { sellersOf } from "./NumberSearch.ts"

/** The end of an attempt to carry out an order. */
export type OrderOutcome =
  | { readonly _tag: "Bought"; readonly number: NumberRow }
  | { readonly _tag: "Refused"; readonly reason: string }
  | { readonly _tag: "Released" }
  /** The order is repeated later. */
  | { readonly _tag: "Pending"; readonly reason: string }

/** Seconds until an order is repeated, by the number of attempts so far: 2, 4, 8 up to 10 minutes. */
const delayAfter = (attempts: number): number => Math.min(600, 2 ** Math.min(attempts, 10))

/** How long a shutdown waits for orders that are being carried out. Others repeat them. */
const shutdownTimeoutMs = 5_000

/** How long a carrier may take, whatever deadline it has. Shorter than a claim, so that it is still ours then. */
const carrierTimeout = "45 seconds"

/**
 * Carries out orders at their carriers. The carrier is called outside any transaction; then the number, the debit and
 * the end of the order are written in one transaction. An order whose outcome is not known stays pending and is repeated
 * with its key.
 */
export class OrderFulfilment extends Context.Tag("@svc/numbers/OrderFulfilment")<
  OrderFulfilment,
  {
    /** Carries out an order that this node has claimed. Never fails: a fault postpones the order. */
    readonly carryOut: (order: OrderRow) => Effect.Effect<OrderOutcome>
    /** The same in the background, so that it goes on when the caller is interrupted. */
    readonly start: (order: OrderRow) => Effect.Effect<Fiber.Fiber<OrderOutcome>>
  }
>() {
  static readonly layer: Layer.Layer<
    OrderFulfilment,
    never,
    Agents | Holds | NumberOrdersRepo | PhoneNumbersRepo | Projects | Providers | SqlClient.SqlClient
  > = Layer.scoped(
    OrderFulfilment,
    Effect.gen(function* () {
      const agents = yield* Agents
      const holds = yield* Holds
      const orders = yield* NumberOrdersRepo
      const numbers = yield* PhoneNumbersRepo
      const projects = yield* Projects
      const transaction = atomically(yield* SqlClient.SqlClient)
      const sellers = new Map(sellersOf(yield* Providers).map((seller) => [seller.id, seller.numbers]))
      const running = yield* FiberSet.make<OrderOutcome>()
      yield* Effect.addFinalizer(() =>
        FiberSet.awaitEmpty(running).pipe(Effect.timeoutOption(shutdownTimeoutMs), Effect.interruptible)
      )

      const postpone = (order: OrderRow, reason: string) =>
        Effect.gen(function* () {
          const seconds = delayAfter(order.attempts)
          const log = order.attempts <= 1 ? Effect.logWarning : Effect.logDebug
          yield* log(`${described(order)} has no known outcome yet; trying again in ${seconds} s: ${reason}`)
          yield* orders.postpone(order.id, reason, seconds)
          return pending(reason)
        })

      /** Writes the bought number, or ends the rent of one whose project was deleted in the meantime. */
      const complete = (order: OrderRow, owned: OwnedNumber) =>
        Effect.gen(function* () {
          const [deleted] = yield* projects.deletedAmong([order.project_id])
          if (deleted !== undefined) {
            const reason = "the project was deleted"
            if (yield* orders.finish(order.id, "refused", reason)) {
              yield* holds.release(purposeOf(order))
              yield* orders.beginRelease({ ...orderOwner(order), node: null })
            }
            return { _tag: "Refused", reason } as const
          }
          if (!(yield* orders.finish(order.id, "done", null))) return pending("another server has completed it")
          // The number before the agent, because the deletion of a project locks in that order: project, agent, number.
          const inserted = yield* numbers.insert({
            ...orderOwner(order),
            ...numberFactsOf(order.number),
            address_id: order.address_id,
            monthly_cost_eur: BigDecimal.unsafeToNumber(order.monthly_cost_eur),
            carrier_id: owned.carrier_id
          })
          if (Option.isNone(inserted)) return yield* Effect.dieMessage(`${order.number} is active already`)
          const { id } = inserted.value
          // An agent that was deleted in the meantime leaves the number without one.
          const { agent_id, agent_public_id, project_id } = order
          if (agent_id !== null && (yield* agents.pin(agent_id))) {
            yield* numbers.assign(project_id, id, { agent_id, agent_public_id })
          }
          yield* holds.settle(purposeOf(order))
          return { _tag: "Bought", number: yield* numbers.beginRent(id) } as const
        }).pipe(transaction)

      const refuse = (order: OrderRow, reason: string) =>
        Effect.gen(function* () {
          if (yield* orders.finish(order.id, "refused", reason)) yield* holds.release(purposeOf(order))
          return { _tag: "Refused", reason } as const
        }).pipe(transaction)

      const buy = (order: OrderRow): Effect.Effect<OrderOutcome> => {
        const seller = sellers.get(order.telephony)
        if (seller === undefined) return postpone(order, notLoaded(order))
        return seller.purchase({ key: order.key, number: order.number, address: order.address }).pipe(
          Effect.timeoutFail({ duration: carrierTimeout, onTimeout }),
          Effect.matchEffect({
            onSuccess: (owned): Effect.Effect<OrderOutcome> => complete(order, owned),
            onFailure: (failure) =>
              failure._tag === "CarrierUnavailable"
                ? postpone(order, failure.reason)
                : Effect.flatMap(
                    orders.nextSeller(order.id),
                    Option.match({ onNone: () => refuse(order, failure.reason), onSome: buy })
                  )
          })
        )
      }

      const endRent = (order: OrderRow): Effect.Effect<OrderOutcome> => {
        const seller = sellers.get(order.telephony)
        if (seller === undefined) return postpone(order, notLoaded(order))
        return seller.release({ key: order.key, number: order.number }).pipe(
          Effect.timeoutFail({ duration: carrierTimeout, onTimeout }),
          Effect.matchEffect({
            onSuccess: () => Effect.as(orders.finish(order.id, "done", null), { _tag: "Released" } as const),
            onFailure: ({ reason }) => postpone(order, reason)
          })
        )
      }

      const carryOut = (order: OrderRow): Effect.Effect<OrderOutcome> =>
        (order.kind === "purchase" ? buy(order) : endRent(order)).pipe(
          // The claim ends within a minute, and the order is repeated then.
          Effect.catchAllCause((cause) =>
            Effect.as(
              Effect.logWarning(`${described(order)} failed; trying again within a minute`, cause),
              pending(Cause.isInterruptedOnly(cause) ? "the server stops" : "an internal error")
            )
          )
        )

      return { carryOut, start: (order) => FiberSet.run(running, carryOut(order)) }
    })
  )
}

const onTimeout = () => new CarrierUnavailable({ reason: `no answer within ${carrierTimeout}` })

const pending = (reason: string) => ({ _tag: "Pending", reason }) as const

const described = ({ kind, number, telephony }: OrderRow): string =>
  kind === "purchase" ? `The purchase of ${number} from ${telephony}` : `The release of ${number} at ${telephony}`

const notLoaded = ({ telephony }: OrderRow): string =>
  `the telephony plugin ${telephony} is not loaded or sells no numbers; load it in SVC_PLUGINS`

const orderOwner = ({ number, org_id, project_id, telephony }: OrderRow) => ({ org_id, project_id, number, telephony })

/** What the first month of rent is held for, while its order is pending. */
export const purposeOf = ({ id, number, org_id }: OrderRow): Purpose => ({
  org_id,
  kind: "number_rent",
  reference: `${number}/purchase-${id}`
})
