import { Cron } from "@svc/cluster/Cron"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Either, Layer } from "effect"
import { PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"
import { NumberOrdersRepo } from "./NumberOrdersRepo.ts"
import { sellersOf } from "./NumberSearch.ts"

/** What differs between a carrier's numbers and ours. */
export type Difference =
  /** The carrier rents it to this server, and no project has it. */
  | { readonly telephony: string; readonly kind: "unknown"; readonly number: string; readonly carrier_id: string }
  /** A project has it, and the carrier does not rent it to this server. */
  | {
      readonly telephony: string
      readonly kind: "missing"
      readonly number: string
      readonly org_id: number
      readonly project_id: number
    }
  /** The carrier did not list its numbers. */
  | { readonly telephony: string; readonly kind: "unavailable"; readonly reason: string }

/** A difference in one line, with what to do. */
export const describeDifference = (difference: Difference): string => {
  const { telephony } = difference
  switch (difference.kind) {
    case "unknown":
      return (
        `${telephony} rents ${difference.number} (${difference.carrier_id}) to this server, and no project has it: ` +
        "import it with POST /v1/phone-numbers/import, or end its rent at the carrier"
      )
    case "missing":
      return (
        `${difference.number} of organization ${difference.org_id} is not among the numbers that ${telephony} rents ` +
        "to this server, so no calls arrive: rent it again there, or release it with svc numbers release " +
        `${difference.number} --org ${difference.org_id} --project ${difference.project_id}`
      )
    case "unavailable":
      return `${telephony} did not list its numbers, so they were not compared: ${difference.reason}`
  }
}

/** Compares the numbers of carriers with ours. It changes nothing: what is right is for the operator to decide. */
export class Reconciliation extends Context.Tag("@svc/numbers/Reconciliation")<
  Reconciliation,
  {
    /** Of all carriers that list their numbers. A number with a recent order is left out. */
    readonly differences: Effect.Effect<ReadonlyArray<Difference>>
  }
>() {
  static readonly layer: Layer.Layer<Reconciliation, never, NumberOrdersRepo | PhoneNumbersRepo | Providers> =
    Layer.effect(
      Reconciliation,
      Effect.gen(function* () {
        const orders = yield* NumberOrdersRepo
        const numbers = yield* PhoneNumbersRepo
        const carriers = sellersOf(yield* Providers).flatMap(({ id, numbers: { owned } }) =>
          owned === undefined ? [] : [{ id, owned }]
        )

        const compare = Effect.fn("Reconciliation.compare")(function* (
          telephony: string,
          owned: (typeof carriers)[number]["owned"]
        ) {
          const answer = yield* Effect.either(owned)
          if (Either.isLeft(answer)) {
            const unavailable: Difference = { telephony, kind: "unavailable", reason: answer.left.reason }
            return [unavailable]
          }
          const ours = yield* numbers.ofTelephony(telephony)
          const rented = new Set(answer.right.map(({ number }) => number))
          const active = new Set(ours.map(({ number }) => number))
          const found: ReadonlyArray<Exclude<Difference, { readonly kind: "unavailable" }>> = [
            ...answer.right
              .filter(({ number }) => !active.has(number))
              .map(({ carrier_id, number }) => ({ telephony, kind: "unknown", number, carrier_id }) as const),
            ...ours
              .filter(({ number }) => !rented.has(number))
              .map(
                ({ number, org_id, project_id }) =>
                  ({ telephony, kind: "missing", number, org_id, project_id }) as const
              )
          ]
          // Orders change the two lists one after the other.
          const changing = new Set(yield* orders.recent(found.map(({ number }) => number)))
          return found.filter(({ number }) => !changing.has(number))
        })

        const differences = Effect.map(
          Effect.forEach(carriers, ({ id, owned }) => compare(id, owned), { concurrency: "unbounded" }),
          (all): ReadonlyArray<Difference> => all.flat()
        )
        return { differences }
      })
    )

  /** Compares once an hour on one node, and logs a difference when it is new there. */
  static readonly worker: Layer.Layer<never, never, Cron | Reconciliation> = Layer.scopedDiscard(
    Effect.gen(function* () {
      const cron = yield* Cron
      const { differences } = yield* Reconciliation
      let logged: ReadonlySet<string> = new Set()
      yield* cron.schedule(
        { name: "numbers.reconcile", every: "1 hour", at: "20 minutes" },
        Effect.gen(function* () {
          const lines = (yield* differences).map(describeDifference)
          yield* Effect.forEach(
            lines.filter((line) => !logged.has(line)),
            (line) => Effect.logWarning(line),
            { discard: true }
          )
          logged = new Set(lines)
        })
      )
    })
  )
}
