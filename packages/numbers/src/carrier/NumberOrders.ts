import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import {
  type PhoneNumber,
  PhoneNumberInUse,
  PhoneNumberNotFound,
  type PhoneNumberPurchase,
  PurchaseFailed
} from "@svc/api/numbers/PhoneNumber"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { type InsufficientCredits, Unavailable, ValidationError } from "@svc/api/VoiceError"
import { Projects } from "@svc/auth/Projects"
import { Tiers } from "@svc/auth/Tiers"
import { Holds, type Purpose } from "@svc/billing/Holds"
import { Rates } from "@svc/billing/Rates"
import { NodeLease } from "@svc/cluster/NodeLease"
import { CarrierUnavailable, type OwnedNumber } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, Cause, Context, Effect, Fiber, FiberSet, Layer, Option } from "effect"
import { Addresses } from "../addresses/Addresses.ts"
import type { AddressRow } from "../addresses/AddressesRepo.ts"
import { isPossibleNumber, type NumberFacts, numberFactsOf } from "../NumberPlan.ts"
import { parseNumberId, toPhoneNumber } from "../PhoneNumbers.ts"
import { type NumberRow, PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"
import { type NewPurchase, NumberOrdersRepo, type OrderAddress, type OrderRow } from "./NumberOrdersRepo.ts"
import { NumberSearch, sellersOf } from "./NumberSearch.ts"

/** The end of an attempt to carry out an order. */
export type OrderOutcome =
  | { readonly _tag: "Bought"; readonly number: NumberRow }
  | { readonly _tag: "Refused"; readonly reason: string }
  | { readonly _tag: "Released" }
  /** The order is repeated later. */
  | { readonly _tag: "Pending"; readonly reason: string }

/** Countries whose numbers need no address. */
const withoutAddress: ReadonlySet<string> = new Set(["US", "CA"])

/** Seconds until an order is repeated, by the number of attempts so far: 2, 4, 8 up to 10 minutes. */
const delayAfter = (attempts: number): number => Math.min(600, 2 ** Math.min(attempts, 10))

/** How long a shutdown waits for orders that are being carried out. Others repeat them. */
const shutdownTimeoutMs = 5_000

/** How long a carrier may take, whatever deadline it has. Shorter than a claim, so that it is still ours then. */
const carrierTimeout = "45 seconds"

/**
 * Buys numbers from carriers and releases them there (docs/reference/numbers-and-messages.md).
 *
 * Each order is written, with a hold of its cost, before the carrier gets it; the carrier is called outside any
 * transaction; then the number, the debit and the end of the order are written in one transaction. If the process dies
 * anywhere, or the carrier does not answer, the order stays pending and {@link NumberOrders.carryOut} repeats it with
 * its key. An order goes on when the request that began it is interrupted.
 */
export class NumberOrders extends Context.Tag("@svc/numbers/NumberOrders")<
  NumberOrders,
  {
    /**
     * Buys a number for a project. `Unavailable`: the order stays pending and the same request joins it. A number that
     * is active, being bought or not yet released at its carrier is `PhoneNumberInUse`.
     */
    readonly purchase: (
      owner: Pick<ProjectPrincipal, "org" | "project">,
      body: PhoneNumberPurchase
    ) => Effect.Effect<
      PhoneNumber,
      ValidationError | PhoneNumberInUse | InsufficientCredits | PurchaseFailed | Unavailable
    >
    /** Releases a number at once, and then at its carrier if it was bought here. */
    readonly release: (project: PrincipalProject, id: string) => Effect.Effect<void, PhoneNumberNotFound>
    /** Carries out an order that this node has claimed. Never fails: a fault postpones the order. */
    readonly carryOut: (order: OrderRow) => Effect.Effect<OrderOutcome>
  }
>() {
  static readonly layer: Layer.Layer<
    NumberOrders,
    never,
    | Addresses
    | Agents
    | Holds
    | NodeLease
    | NumberOrdersRepo
    | NumberSearch
    | PhoneNumbersRepo
    | Projects
    | Providers
    | Rates
    | Tiers
    | SqlClient.SqlClient
  > = Layer.scoped(
    NumberOrders,
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const agents = yield* Agents
      const holds = yield* Holds
      const lease = yield* NodeLease
      const orders = yield* NumberOrdersRepo
      const search = yield* NumberSearch
      const numbers = yield* PhoneNumbersRepo
      const projects = yield* Projects
      const rates = yield* Rates
      const tiers = yield* Tiers
      const sql = yield* SqlClient.SqlClient
      const sellers = new Map(sellersOf(yield* Providers).map((seller) => [seller.id, seller.numbers]))
      const running = yield* FiberSet.make<OrderOutcome>()
      yield* Effect.addFinalizer(() =>
        FiberSet.awaitEmpty(running).pipe(Effect.timeoutOption(shutdownTimeoutMs), Effect.interruptible)
      )

      const atomically = <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.catchTag(sql.withTransaction(work), "SqlError", Effect.die)

      const node = Effect.map(lease.current, ({ id }) => id)

      const postpone = (order: OrderRow, reason: string) =>
        Effect.gen(function* () {
          const seconds = delayAfter(order.attempts)
          const log = order.attempts <= 1 ? Effect.logWarning : Effect.logDebug
          yield* log(`${described(order)} is not certain yet; trying again in ${seconds} s: ${reason}`)
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
        }).pipe(atomically)

      const refuse = (order: OrderRow, reason: string) =>
        Effect.gen(function* () {
          if (yield* orders.finish(order.id, "refused", reason)) yield* holds.release(purposeOf(order))
          return { _tag: "Refused", reason } as const
        }).pipe(atomically)

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

      /** The address of a purchase, locked against its deletion. */
      const pinAddress = Effect.fnUntraced(function* (projectId: number, addressId: number, { type }: NumberFacts) {
        const found = yield* addresses.pin(projectId, addressId)
        const invalid = (message: string) => ValidationError.field("address_id", `address_id ${message}`)
        if (Option.isNone(found)) return yield* invalid("must be the id of an address of this project")
        const verdict = stateFor(found.value, type)
        if (verdict === "rejected" || verdict === "expired") {
          return yield* invalid(`must be an address that is valid for ${type} numbers; this one is ${verdict}`)
        }
        return toOrderAddress(found.value)
      })

      /** Writes the order with the hold of its cost, or claims the pending one of an earlier, equal request. */
      const begin = (
        { address_id, ...purchase }: Omit<NewPurchase, "address" | "monthly_cost_eur">,
        facts: NumberFacts
      ) =>
        Effect.gen(function* () {
          const { agent_id, node, number, org_id, project_id } = purchase
          yield* numbers.lock(number)
          const earlier = yield* orders.ofNumber(number)
          if (Option.isSome(earlier)) {
            const order = earlier.value
            const isSame =
              order.kind === "purchase" &&
              order.project_id === project_id &&
              order.agent_id === agent_id &&
              order.address_id === address_id
            const claimed = isSame ? yield* orders.claimOne(order.id, node) : Option.none()
            return Option.isSome(claimed) ? claimed.value : yield* new PhoneNumberInUse()
          }
          if ((yield* numbers.taken([number])).length > 0) return yield* new PhoneNumberInUse()
          const address = address_id === null ? null : yield* pinAddress(project_id, address_id, facts)
          const cost = rates.number(yield* tiers.of(org_id))
          const order = yield* orders.beginPurchase({
            ...purchase,
            address_id,
            address,
            monthly_cost_eur: BigDecimal.format(cost)
          })
          if (agent_id !== null && !(yield* agents.pin(agent_id))) return yield* unknownAgent
          yield* holds.hold(purposeOf(order), cost)
          return order
        }).pipe(atomically)

      return {
        purchase: Effect.fn("NumberOrders.purchase")(function* ({ org, project }, body) {
          const { number } = body
          if (!isPossibleNumber(number)) {
            return yield* ValidationError.field("number", "must be a valid E.164 phone number")
          }
          const facts = numberFactsOf(number)
          const address_id = body.address_id ?? null
          if (address_id === null && !withoutAddress.has(facts.country)) {
            return yield* ValidationError.field("address_id", "address_id is required for this country")
          }
          const agent =
            body.agent_id === undefined || body.agent_id === null
              ? null
              : yield* Effect.catchTag(agents.get(project, String(body.agent_id)), "AgentNotFound", () => unknownAgent)
          const sellers = yield* search.sellersFor(number, facts)
          const order = yield* begin(
            {
              org_id: org.id,
              project_id: project.id,
              number,
              sellers,
              agent_id: agent?.id ?? null,
              agent_public_id: agent?.public_id ?? null,
              address_id,
              node: yield* node
            },
            facts
          )
          const outcome = yield* Fiber.join(yield* FiberSet.run(running, carryOut(order)))
          switch (outcome._tag) {
            case "Bought":
              return toPhoneNumber(outcome.number)
            case "Refused":
              return yield* new PurchaseFailed({ message: outcome.reason })
            default:
              return yield* new Unavailable({
                message:
                  `The purchase of ${number} is not certain yet, because the carrier did not answer; it goes on. ` +
                  "Repeat the request later, or look at the list of phone numbers"
              })
          }
        }),
        release: Effect.fn("NumberOrders.release")(function* (project, id) {
          const numberId = parseNumberId(id)
          if (numberId === undefined) return yield* new PhoneNumberNotFound()
          const released = yield* Effect.gen(function* () {
            const row = yield* numbers.release(project.id, numberId)
            if (Option.isNone(row)) return undefined
            if (row.value.carrier_id === null) return null
            const { number, org_id, project_id, telephony } = row.value
            return yield* orders.beginRelease({ org_id, project_id, number, telephony, node: yield* node })
          }).pipe(atomically)
          if (released === undefined) return yield* new PhoneNumberNotFound()
          if (released !== null) yield* FiberSet.run(running, carryOut(released))
        }),
        carryOut
      }
    })
  )
}

const onTimeout = () => new CarrierUnavailable({ reason: `no answer within ${carrierTimeout}` })

const pending = (reason: string) => ({ _tag: "Pending", reason }) as const

const unknownAgent = ValidationError.field("agent_id", "agent_id must be the id of an agent of this project")

const described = ({ kind, number, telephony }: OrderRow): string =>
  kind === "purchase" ? `The purchase of ${number} from ${telephony}` : `The release of ${number} at ${telephony}`

const notLoaded = ({ telephony }: OrderRow): string =>
  `the telephony plugin ${telephony} is not loaded or sells no numbers; load it in SVC_PLUGINS`

const orderOwner = ({ number, org_id, project_id, telephony }: OrderRow) => ({ org_id, project_id, number, telephony })

/** What the first month of rent is held for, while its order is pending. */
const purposeOf = ({ id, number, org_id }: OrderRow): Purpose => ({
  org_id,
  kind: "number_rent",
  reference: `${number}/purchase-${id}`
})

/** The state of an address for a type of number: that of its verdict, or of the whole while there is none. */
const stateFor = ({ number_types, status }: AddressRow, type: NumberFacts["type"]) =>
  number_types.find((verdict) => verdict.type === type)?.status ?? status

const toOrderAddress = ({
  city,
  country,
  customer_name,
  postcode,
  region,
  street,
  submission_id
}: AddressRow): OrderAddress => ({ customer_name, street, city, postcode, region, country, submission_id })
