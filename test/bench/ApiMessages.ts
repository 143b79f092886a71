import type { Ask, Effort } from "./Messages.ts"

/** What the processes of the API's bench ask each other. Times are milliseconds. */

export interface ApiServerAsks {
  readonly address: Ask<undefined, { readonly url: string }>
  /** Measuring begins. */
  readonly measure: Ask<undefined, undefined>
  readonly figures: Ask<undefined, Effort>
}

export interface Volley {
  /** What is asked for, again and again. */
  readonly url: string
  readonly key: string
  /** Requests under way at once, each on a connection of its own. */
  readonly connections: number
  readonly ms: number
}

export interface VolleyFigures {
  readonly requests: number
  /** Answers that were not 200. */
  readonly failures: number
  readonly ms: number
  /** From the request to the end of its answer. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface ApiLoadAsks {
  readonly fire: Ask<Volley, VolleyFigures>
}
