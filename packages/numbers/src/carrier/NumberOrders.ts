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
import { Tiers } from "@svc/auth/Tiers"
import { Holds } from "@svc/billing/Holds"
import { Rates } from "@svc/billing/Rates"
import { NodeLease } from "@svc/cluster/NodeLease"
import { atomically } from "@svc/database/Transaction"
import { BigDecimal, Context, Effect, Fiber, Layer, Option } from "effect"
import { Addresses } from "../addresses/Addresses.ts"
import type { AddressRow } from "../addresses/AddressesRepo.ts"
import { isPossibleNumber, type NumberFacts, numberFactsOf } from "../NumberPlan.ts"
import { parseNumberId, toPhoneNumber } from "../PhoneNumbers.ts"
import { PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"
import { type NewPurchase, NumberOrdersRepo, type OrderAddress, type OrderRow } from "./NumberOrdersRepo.ts"
import { NumberSearch } from "./NumberSearch.ts"
import { OrderFulfilment, purposeOf } from "./OrderFulfilment.ts"

/** Countries whose numbers need no address. */
const withoutAddress: ReadonlySet<string> = new Set(["US", "CA"])

/**
 * Buys numbers from carriers and releases them there (docs/reference/numbers-and-messages.md).
 *
 * Each order is written, with a hold of its cost, before the carrier gets it. {@link OrderFulfilment} carries it out, in
 * the background: if the process dies anywhere, or the carrier does not answer, the order stays pending and is repeated.
 * It goes on when the request that began it is interrupted.
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
    | OrderFulfilment
    | Rates
    | Tiers
    | SqlClient.SqlClient
  > = Layer.effect(
    NumberOrders,
    Effect.gen(function* () {
      const addresses = yield* Addresses
      const agents = yield* Agents
      const holds = yield* Holds
      const lease = yield* NodeLease
      const orders = yield* NumberOrdersRepo
      const search = yield* NumberSearch
      const numbers = yield* PhoneNumbersRepo
      const rates = yield* Rates
      const tiers = yield* Tiers
      const transaction = atomically(yield* SqlClient.SqlClient)
      const fulfilment = yield* OrderFulfilment

      const node = Effect.map(lease.current, ({ id }) => id)

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
            if (Option.isSome(claimed)) return claimed.value
            // Other projects must not learn who has it.
            return yield* order.project_id === project_id ? inProgress(order) : new PhoneNumberInUse()
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
        }).pipe(transaction)

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
          const outcome = yield* Fiber.join(yield* fulfilment.start(order))
          switch (outcome._tag) {
            case "Bought":
              return toPhoneNumber(outcome.number)
            case "Refused":
              return yield* new PurchaseFailed({ message: outcome.reason })
            default:
              return yield* new Unavailable({
                message:
                  `The outcome of the purchase of ${number} is not known yet. Svc repeats the order until the carrier answers. ` +
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
          }).pipe(transaction)
          if (released === undefined) return yield* new PhoneNumberNotFound()
          if (released !== null) yield* fulfilment.start(released)
        })
      }
    })
  )
}

const inProgress = ({ kind, number }: OrderRow) =>
  new PhoneNumberInUse({
    message:
      kind === "purchase"
        ? `${number} is being bought by an earlier request: look at the list of phone numbers, or repeat the request later`
        : `${number} is being released at its carrier: repeat the request later`
  })

const unknownAgent = ValidationError.field("agent_id", "agent_id must be the id of an agent of this project")

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
