/** Milliseconds that the timers of transactions are made of (RFC 3261, 17.1.1.1). */
export interface Timing {
  /** An estimate of the round-trip time. */
  readonly t1: number
  /** The longest interval between retransmissions of requests that are no INVITE, and of responses to INVITE. */
  readonly t2: number
  /** How long a message may stay in the network. */
  readonly t4: number
}

export const usualTiming: Timing = { t1: 500, t2: 4000, t4: 5000 }

/** When each running timer is due, in ms of the clock that steps are given. */
export type Timers = { readonly [name: string]: number }

/** The timer that is due first, and when; undefined: none runs. */
export const next = (timers: Timers): { readonly name: string; readonly at: number } | undefined => {
  let first: { readonly name: string; readonly at: number } | undefined
  for (const name of Object.keys(timers)) {
    const at = timers[name] ?? Number.POSITIVE_INFINITY
    if (first === undefined || at < first.at) first = { name, at }
  }
  return first
}

/** The timers without some of them. */
export const without = (timers: Timers, ...names: ReadonlyArray<string>): Timers =>
  Object.fromEntries(Object.entries(timers).filter(([name]) => !names.includes(name)))
