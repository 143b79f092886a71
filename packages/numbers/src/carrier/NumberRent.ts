import { SqlClient } from "@effect/sql"
import { Holds } from "@svc/billing/Holds"
import { Cron } from "@svc/cluster/Cron"
import { Clock, Context, Effect, Exit, Layer, Option } from "effect"
import { PhoneNumbersRepo } from "../PhoneNumbersRepo.ts"

/**
 * The rent of bought numbers (docs/reference/billing.md). Each month after the first is debited on its day, whatever the
 * balance, in the transaction that moves the end of the paid time: once for a number and month, whoever does it and how
 * often.
 */
export class NumberRent extends Context.Tag("@svc/numbers/NumberRent")<
  NumberRent,
  {
    /** Debits all months that are due at `now`, missed ones too. Returns how many. A number that fails stops no others. */
    readonly chargeDue: (now: Date) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<NumberRent, never, Holds | PhoneNumbersRepo | SqlClient.SqlClient> = Layer.effect(
    NumberRent,
    Effect.gen(function* () {
      const holds = yield* Holds
      const numbers = yield* PhoneNumbersRepo
      const sql = yield* SqlClient.SqlClient

      /** Debits the month that is due. */
      const chargeMonth = (id: number, now: Date) =>
        Effect.gen(function* () {
          const month = yield* numbers.extendRent(id, now)
          if (Option.isNone(month)) return
          const { begins, monthly_cost_eur, number, org_id } = month.value
          yield* holds.charge({ org_id, kind: "number_rent", reference: `${number}/${begins}` }, monthly_cost_eur)
        }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))

      const chargeDue = Effect.fn("NumberRent.chargeDue")(function* (now: Date) {
        const failed: Array<number> = []
        let charged = 0
        for (;;) {
          const due = yield* numbers.rentDue(now, failed)
          if (Option.isNone(due)) return charged
          const id = due.value
          const exit = yield* Effect.exit(chargeMonth(id, now))
          if (Exit.isSuccess(exit)) charged++
          else {
            failed.push(id)
            yield* Effect.logError(`The rent of phone number ${id} was not debited; trying again`, exit.cause)
          }
        }
      })
      return { chargeDue }
    })
  )

  /** Charges every hour, on one node. */
  static readonly worker: Layer.Layer<never, never, Cron | NumberRent> = Layer.scopedDiscard(
    Effect.gen(function* () {
      const cron = yield* Cron
      const rent = yield* NumberRent
      yield* cron.schedule(
        { name: "numbers.rent", every: "1 hour" },
        Effect.flatMap(Clock.currentTimeMillis, (now) => rent.chargeDue(new Date(now))).pipe(
          Effect.flatMap((months) =>
            months === 0 ? Effect.void : Effect.logInfo(`Months of rent of phone numbers debited: ${months}`)
          )
        )
      )
    })
  )
}
