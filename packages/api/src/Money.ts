import { BigDecimal } from "effect"

/** Rounds an amount in EUR to 4 decimals, halves away from zero: the only rounding of money. */
export const round4 = (amount: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  BigDecimal.round(amount, { scale: 4, mode: "half-from-zero" })

/** An amount on the wire: a number with at most 4 decimals, exact up to 900,000,000,000. */
export const toNumber = (amount: BigDecimal.BigDecimal): number => BigDecimal.unsafeToNumber(round4(amount))
