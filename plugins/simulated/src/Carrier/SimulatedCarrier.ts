import { createHash } from "node:crypto"
import {
  type AddressVerdict,
  type CarrierAddress,
  CarrierRefused,
  type Numbers,
  type NumberType,
  type Regulatory
} from "@svc/providers/Carrier"
import { Effect } from "effect"
import type { CarrierRecords } from "./CarrierRecords.ts"
import { numbersForSale, typesIn } from "./Inventory.ts"

const refuse = (reason: string) => Effect.fail(new CarrierRefused({ reason }))

/** The numbers of the simulated carrier. It sells any number that it does not rent already, offered or not. */
export const simulatedNumbers = (records: typeof CarrierRecords.Service): Numbers => ({
  search: (query) => Effect.map(records.state, ({ rented }) => numbersForSale(query, (number) => rented.has(number))),
  purchase: ({ key, number }) =>
    Effect.gen(function* () {
      yield* records.add({ order: "purchase", key, number })
      const { purchases } = yield* records.state
      const outcome = purchases.get(key)
      if (outcome === undefined) return yield* Effect.dieMessage(`the purchase ${key} was not recorded`)
      return "refused" in outcome ? yield* refuse(outcome.refused) : outcome
    }),
  release: ({ key, number }) => Effect.asVoid(records.add({ order: "release", key, number })),
  ...(records.listsOwned ? { owned: Effect.map(records.state, ({ rented }) => [...rented.values()]) } : {})
})

const demanded: ReadonlyArray<keyof CarrierAddress> = ["customer_name", "street", "city", "postcode", "country"]

const verifiedTypes = (country: string): ReadonlyArray<NumberType> => {
  const types = typesIn(country)
  return types.length === 0 ? ["local", "mobile"] : types
}

/** What the customer's name decides. */
const outcomeOf = (name: string) =>
  name.includes("REJECT")
    ? "rejected"
    : name.includes("PARTIAL")
      ? "partial"
      : name.includes("EXPIRE")
        ? "expired"
        : "verified"

/** Country, outcome and the number of the question that gets the final state; a hash of the key. */
const submissionPattern = /^sim-([A-Z]{2})-(rejected|partial|expired|verified)-([12])-[0-9a-f]{24}$/

const verdictOf = (type: NumberType, outcome: string, asked: number, final: number): AddressVerdict => {
  if (asked < final) return { type, status: "pending", rejection_reason: null }
  if (outcome === "rejected" || (outcome === "partial" && type !== "local")) {
    return {
      type,
      status: "rejected",
      rejection_reason: `The simulated carrier does not accept this address for ${type.replace("_", "-")} numbers.`
    }
  }
  return { type, status: outcome === "expired" && asked > final ? "expired" : "verified", rejection_reason: null }
}

/**
 * The address verification of the simulated carrier. The id of a submission contains its outcome, so that its state is
 * known after a restart without a file.
 */
export const simulatedRegulatory = (records: typeof CarrierRecords.Service): Regulatory => ({
  requirements: (country) => Effect.succeed({ fields: demanded, number_types: verifiedTypes(country) }),
  submit: ({ address, key }) =>
    Effect.gen(function* () {
      const missing = demanded.filter((field) => address[field] === null || address[field] === "")
      if (missing.length > 0) return yield* refuse(`The address lacks ${missing.join(", ")}.`)
      if (!/^[A-Z]{2}$/.test(address.country)) return yield* refuse("The country must be ISO 3166-1 alpha-2.")
      const hash = createHash("sha256").update(key).digest("hex").slice(0, 24)
      const final = address.customer_name.includes("PENDING") ? 2 : 1
      const submission_id = `sim-${address.country}-${outcomeOf(address.customer_name)}-${final}-${hash}`
      yield* records.add({ order: "submit", key, submission_id })
      return { submission_id }
    }),
  status: (submission_id) =>
    Effect.gen(function* () {
      const [, country, outcome, question] = submissionPattern.exec(submission_id) ?? []
      if (country === undefined || outcome === undefined) {
        return yield* refuse(`The simulated carrier knows no submission ${submission_id}.`)
      }
      const final = Number(question)
      const before = (yield* records.state).questions(submission_id)
      // Later questions change nothing, so they are not recorded.
      if (before <= final) yield* records.add({ order: "status", submission_id })
      const asked = (yield* records.state).questions(submission_id)
      return verifiedTypes(country).map((type) => verdictOf(type, outcome, asked, final))
    })
})
