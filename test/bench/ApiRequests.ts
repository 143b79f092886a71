import type { ProcessFigures, Request } from "./ProcessRequests.ts"

/** Requests between the processes of the API's bench. Times are milliseconds. */

export interface ApiServerRequests {
  readonly address: Request<undefined, { readonly url: string }>
  /** Measuring begins. */
  readonly measure: Request<undefined, undefined>
  readonly figures: Request<undefined, ProcessFigures>
}

export interface Burst {
  /** Requested again and again. */
  readonly url: string
  readonly key: string
  /** Requests in flight at once, each on a connection of its own. */
  readonly connections: number
  readonly ms: number
}

export interface BurstFigures {
  readonly requests: number
  /** Answers that were not 200. */
  readonly failures: number
  readonly ms: number
  /** From the request to the end of its answer. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface ApiLoadRequests {
  readonly send: Request<Burst, BurstFigures>
}
