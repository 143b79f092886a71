import { BigDecimal, Schema } from "effect"

/** Amounts of money are EUR, exact, with 4 decimals (decisions §1.8). Halves are rounded away from zero. */
export const round4 = (amount: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  BigDecimal.round(amount, { scale: 4, mode: "half-from-zero" })

export const zero: BigDecimal.BigDecimal = BigDecimal.make(0n, 0)

/** More than any single movement may be. */
const most = BigDecimal.make(1_000_000_000n, 0)

/** An amount of a movement: above 0, at most 4 decimals, below a thousand million. */
export const isAmount = (amount: BigDecimal.BigDecimal): boolean =>
  BigDecimal.isPositive(amount) && BigDecimal.lessThan(amount, most) && BigDecimal.equals(amount, round4(amount))

/** A `numeric` of a row. */
export const Money = Schema.BigDecimal

/** How an amount goes over the wire: a JSON number, exact at 4 decimals up to 900 thousand million. */
export const toNumber = (amount: BigDecimal.BigDecimal): number => BigDecimal.unsafeToNumber(amount)
