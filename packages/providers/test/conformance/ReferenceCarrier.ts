import { Effect } from "effect"
import {
  type AddressVerdict,
  CarrierRefused,
  CarrierUnavailable,
  type Numbers,
  type OfferedNumber,
  type OwnedNumber,
  type Regulatory
} from "../../src/Carrier.ts"

/** Faults of a network that sells numbers and verifies addresses. */
export type CarrierBug =
  | "ignores the country of a search"
  | "ignores the type of a search"
  | "ignores the limit of a search"
  | "ignores the area of a search"
  | "offers rented numbers"
  | "cannot list what was rented"
  | "rents again for a repeated purchase"
  | "refuses a repeated purchase"
  | "looks for the key before it orders"
  | "remembers the key after the answer"
  | "rents one number twice"
  | "accepts the refused number"
  | "releases the number of a refused purchase"
  | "does not end the rent"
  | "fails to release an unknown number"
  | "ends a later rent"
  | "dies on purchase"
  | "hangs on purchase"
  | "submits again for a repeated submission"
  | "accepts incomplete addresses"
  | "gives no verdict for mobile numbers"
  | "stays pending"
  | "becomes pending again"
  | "gives a reason for what is verified"
  | "knows every submission"

/** The number that the reference network does not sell. */
export const refusedNumber = "+12125559999"

/** How long an order, and how long its answer, is on its way. */
const travel = Effect.sleep(10)

const offers: ReadonlyArray<OfferedNumber> = ["212", "415"].flatMap((area) =>
  (["local", "toll_free"] as const).flatMap((type, index) =>
    Array.from({ length: 20 }, (_, n) => ({ number: `+1${area}555${index}1${10 + n}`, country: "US", type, area }))
  )
)

/** Numbers and addresses in memory. */
export const referenceCarrier = (
  is: (bug: CarrierBug) => boolean
): { readonly numbers: Numbers; readonly regulatory: Regulatory } => {
  let rents: ReadonlyArray<OwnedNumber> = []
  const purchases = new Map<string, OwnedNumber>()
  const releases = new Set<string>()
  const submissions = new Map<string, string>()
  const questions = new Map<string, number>()
  let count = 0

  const rent = (number: string): OwnedNumber => {
    const rented = { number, carrier_id: `reference-${++count}` }
    rents = [...rents, rented]
    return rented
  }
  const isRented = (number: string) => rents.some((one) => one.number === number)
  const repeated = (key: string, number: string): OwnedNumber | undefined => {
    const known = purchases.get(key)
    return known !== undefined && is("rents again for a repeated purchase") ? rent(number) : known
  }
  const refuse = (reason: string) => Effect.fail(new CarrierRefused({ reason }))

  const numbers: Numbers = {
    search: ({ area, country, limit, type }) =>
      Effect.sync(() => {
        const found = offers.filter(
          (offer) =>
            (offer.country === country || is("ignores the country of a search")) &&
            (type === undefined || offer.type === type || is("ignores the type of a search")) &&
            (area === undefined || offer.area === area || is("ignores the area of a search")) &&
            (!isRented(offer.number) || is("offers rented numbers"))
        )
        // The last ones first, so that the types are mixed when the type is ignored.
        const mixed = is("ignores the type of a search") ? found.toReversed() : found
        return is("ignores the limit of a search") ? mixed : mixed.slice(0, limit)
      }),
    purchase: ({ key, number }) =>
      Effect.gen(function* () {
        if (is("dies on purchase")) return yield* Effect.die("no purchase")
        if (is("hangs on purchase")) return yield* Effect.never
        const early = purchases.get(key)
        yield* travel
        const known = is("looks for the key before it orders") ? early : repeated(key, number)
        if (known !== undefined) {
          return is("refuses a repeated purchase") ? yield* refuse("it is rented already") : known
        }
        if (number === refusedNumber && !is("accepts the refused number")) return yield* refuse("it is not for sale")
        const lax = is("rents one number twice") || is("looks for the key before it orders")
        if (isRented(number) && !lax) {
          if (is("releases the number of a refused purchase")) rents = rents.filter((one) => one.number !== number)
          return yield* refuse("it is rented already")
        }
        const rented = rent(number)
        if (is("remembers the key after the answer")) yield* travel
        purchases.set(key, rented)
        yield* travel
        return rented
      }),
    release: ({ key, number }) =>
      Effect.gen(function* () {
        yield* travel
        if (!isRented(number) && is("fails to release an unknown number")) {
          return yield* new CarrierUnavailable({ reason: "unknown number" })
        }
        if (releases.has(key) && !is("ends a later rent")) return
        releases.add(key)
        if (!is("does not end the rent")) rents = rents.filter((one) => one.number !== number)
      }),
    ...(is("cannot list what was rented") ? {} : { owned: Effect.sync(() => rents) })
  }

  const regulatory: Regulatory = {
    requirements: () => Effect.succeed({ fields: ["customer_name", "city"], number_types: ["local", "mobile"] }),
    submit: ({ address, key }) =>
      Effect.gen(function* () {
        yield* travel
        if ((address.customer_name === "" || address.city === "") && !is("accepts incomplete addresses")) {
          return yield* refuse("the address is incomplete")
        }
        const known = submissions.get(key)
        if (known !== undefined && !is("submits again for a repeated submission")) return { submission_id: known }
        const submission_id = `submission-${++count}`
        submissions.set(key, submission_id)
        yield* travel
        return { submission_id }
      }),
    status: (id) =>
      Effect.gen(function* () {
        yield* travel
        if (![...submissions.values()].includes(id) && !is("knows every submission")) return yield* refuse("unknown")
        const asked = (questions.get(id) ?? 0) + 1
        questions.set(id, asked)
        const pending = asked === 1 || is("stays pending") || (asked === 3 && is("becomes pending again"))
        const verdict = (type: AddressVerdict["type"]): AddressVerdict => ({
          type,
          status: pending ? "pending" : "verified",
          rejection_reason: is("gives a reason for what is verified") ? "none" : null
        })
        return is("gives no verdict for mobile numbers") ? [verdict("local")] : [verdict("local"), verdict("mobile")]
      })
  }
  return { numbers, regulatory }
}
