import type { Ask, Quantiles } from "./Messages.ts"

/** What a receiver got since it was told to begin. Times are milliseconds from append to arrival. */
export interface ReceiverFigures extends Quantiles {
  readonly count: number
  /** Between the first and the last. */
  readonly perSecond: number
}

/** What the webhooks bench asks its receiver. */
export interface ReceiverAsks {
  readonly address: Ask<undefined, string>
  readonly begin: Ask<undefined, undefined>
  readonly figures: Ask<undefined, ReceiverFigures>
}
