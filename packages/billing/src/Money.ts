import { BigDecimal, Schema } from "effect"

/** Rounds an amount in EUR to 4 decimals, halves away from zero. */
export const round4 = (amount: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  BigDecimal.round(amount, { scale: 4, mode: "half-from-zero" })

export const zero: BigDecimal.BigDecimal = BigDecimal.make(0n, 0)

/** Exclusive upper bound of a movement. */
const maxAmount = BigDecimal.make(1_000_000_000n, 0)

/** Whether a movement may have this amount: above 0, below 1,000,000,000, with at most 4 decimals. */
export const isAmount = (amount: BigDecimal.BigDecimal): boolean =>
  BigDecimal.isPositive(amount) && BigDecimal.lessThan(amount, maxAmount) && BigDecimal.equals(amount, round4(amount))

/** A `numeric` column. */
export const Money = Schema.BigDecimal

/** An amount as a JSON number, exact with 4 decimals up to 900,000,000,000. */
export const toNumber = (amount: BigDecimal.BigDecimal): number => BigDecimal.unsafeToNumber(amount)
