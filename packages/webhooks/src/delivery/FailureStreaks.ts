/** Consecutive failed attempts after which a webhook is disabled. */
export const maxConsecutiveFailures = 10

/** The effect of a batch of attempts on the failure streak of one webhook. */
export interface FailureStreak {
  readonly webhook_id: number
  readonly failures: number
  readonly had_success: boolean
  /** Failures before the first success; all failures when there was none. */
  readonly leading: number
  /** Failures after the last success; all failures when there was none. */
  readonly trailing: number
  /** The longest run of failures. */
  readonly longest: number
  /** Whether the receiver answered 410 Gone. */
  readonly gone: boolean
}

/** An attempt with its webhook; a failure when `error` is not null. */
interface Attempt {
  readonly delivery: { readonly webhook_id: number }
  readonly status_code: number | null
  readonly error: string | null
}

const empty = { failures: 0, had_success: false, leading: 0, trailing: 0, longest: 0, gone: false }

/** Summarizes attempts, given in their order, by webhook. */
export const failureStreaks = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<FailureStreak> => {
  const streaks = new Map<number, FailureStreak>()
  for (const { delivery, error, status_code } of attempts) {
    const { webhook_id } = delivery
    const before = streaks.get(webhook_id) ?? { webhook_id, ...empty }
    const trailing = error === null ? 0 : before.trailing + 1
    streaks.set(webhook_id, {
      webhook_id,
      failures: before.failures + (error === null ? 0 : 1),
      had_success: before.had_success || error === null,
      leading: before.leading + (error === null || before.had_success ? 0 : 1),
      trailing,
      longest: Math.max(before.longest, trailing),
      gone: before.gone || status_code === 410
    })
  }
  return [...streaks.values()]
}

/**
 * The webhooks with a failure streak, as far as this node knows. Successes of all others change nothing in the
 * database, so most batches need no statement for streaks.
 */
export class FailingWebhooks {
  readonly #ids = new Set<number>()

  add(webhookId: number): void {
    this.#ids.add(webhookId)
  }

  /** The streaks that a batch of attempts changes. */
  changedBy(attempts: ReadonlyArray<Attempt>): ReadonlyArray<FailureStreak> {
    if (this.#ids.size === 0 && attempts.every(({ error }) => error === null)) return []
    return failureStreaks(attempts).filter((streak) => {
      const isChanged = streak.failures > 0 || this.#ids.has(streak.webhook_id)
      if (streak.trailing > 0) this.#ids.add(streak.webhook_id)
      else this.#ids.delete(streak.webhook_id)
      return isChanged
    })
  }
}
