import { round4 } from "@svc/api/Money"
import { BigDecimal, Data, Schema } from "effect"

export const zero: BigDecimal.BigDecimal = BigDecimal.make(0n, 0)

/** Exclusive upper bound of a movement. */
const maxAmount = BigDecimal.make(1_000_000_000n, 0)

/** Whether a movement may have this amount: above 0, below 1,000,000,000, with at most 4 decimals. */
export const isAmount = (amount: BigDecimal.BigDecimal): boolean =>
  BigDecimal.isPositive(amount) && BigDecimal.lessThan(amount, maxAmount) && BigDecimal.equals(amount, round4(amount))

/** An amount that cannot be booked. */
export class InvalidAmount extends Data.TaggedError("InvalidAmount")<{ readonly message: string }> {
  constructor() {
    super({ message: "must be an amount in EUR above 0 and below 1000000000, with at most 4 decimals" })
  }
}

/** A `numeric` column. */
export const Money = Schema.BigDecimal
