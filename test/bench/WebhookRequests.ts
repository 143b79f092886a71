import type { Quantiles, Request } from "./ProcessRequests.ts"

/** What a receiver got since `begin`. Times are milliseconds from append to arrival. */
export interface ReceiverFigures extends Quantiles {
  readonly count: number
  /** Between the first and the last. */
  readonly perSecond: number
}

/** Requests of the webhooks bench to its receiver. */
export interface ReceiverRequests {
  readonly address: Request<undefined, string>
  readonly begin: Request<undefined, undefined>
  readonly figures: Request<undefined, ReceiverFigures>
}
