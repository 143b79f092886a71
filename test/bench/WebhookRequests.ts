import type { EnvelopeParts } from "@svc/webhooks/delivery/DeliveryRequest"
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

/** Requests of the webhooks bench to the process with graphile-worker. */
export interface GraphileRequests {
  /** Adds events as jobs for so long, and delivers them all to the receiver at `url`; each gets its own stamp. */
  readonly saturate: Request<
    { readonly url: string; readonly parts: EnvelopeParts; readonly seconds: number },
    { readonly added: number }
  >
}
