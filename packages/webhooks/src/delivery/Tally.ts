/** Consecutive failures that disable a webhook (spec 6.5). */
export const mostFailures = 10

/** What attempts did to one webhook, in their order. */
export interface Tally {
  readonly webhook_id: number
  readonly failures: number
  readonly had_success: boolean
  /** Failures before the first success, of all when there was none. */
  readonly leading: number
  /** Failures after the last success, of all when there was none. */
  readonly trailing: number
  /** The longest run of failures. */
  readonly longest: number
  /** Whether the receiver said that it is gone for good (410). */
  readonly gone: boolean
}

interface Attempted {
  readonly delivery: { readonly webhook_id: number }
  readonly status_code: number | null
  readonly error: string | null
}

const blank = { failures: 0, had_success: false, leading: 0, trailing: 0, longest: 0, gone: false }

/** One tally per webhook. */
export const tally = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Tally> => {
  const found = new Map<number, Tally>()
  for (const { delivery, error, status_code } of attempts) {
    const { webhook_id } = delivery
    const so = found.get(webhook_id) ?? { webhook_id, ...blank }
    const trailing = error === null ? 0 : so.trailing + 1
    found.set(webhook_id, {
      webhook_id,
      failures: so.failures + (error === null ? 0 : 1),
      had_success: so.had_success || error === null,
      leading: so.leading + (error === null || so.had_success ? 0 : 1),
      trailing,
      longest: Math.max(so.longest, trailing),
      gone: so.gone || status_code === 410
    })
  }
  return [...found.values()]
}
