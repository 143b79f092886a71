import type { Health } from "@svc/providers/Health"
import { type Clock, Duration, Effect } from "effect"
import { oneLine } from "../loader/OneLine.ts"
import { admit, type Breaker, initial, type Outcome, settle, threshold } from "./Breaker.ts"

/** How long a provider may take to tell how it is. */
const healthDeadline = Duration.seconds(3)

/** One provider's breaker. Synchronous, because callbacks on the media path report to it. */
export interface Circuit {
  /** Whether a call may be made now. Each admitted call must be settled. */
  readonly admit: () => boolean
  readonly settle: (outcome: Outcome) => void
  /** Why calls are refused, for the typed error. */
  readonly refusal: () => string
  /** The provider's own health, unless the circuit is open; never fails, never hangs. */
  readonly health: (own: Effect.Effect<Health>) => Effect.Effect<Health>
  readonly now: () => number
}

/** A provider's health effect, made safe: a defect or a hang is ill health. */
export const safeHealth = (own: Effect.Effect<Health>): Effect.Effect<Health> =>
  Effect.suspend(() => own).pipe(
    Effect.disconnect,
    Effect.timeoutTo({
      duration: healthDeadline,
      onSuccess: (health: Health) => health,
      onTimeout: (): Health => ({
        healthy: false,
        reason: `does not tell its health within ${Duration.format(healthDeadline)}`
      })
    }),
    Effect.catchAllDefect((defect) =>
      Effect.succeed<Health>({ healthy: false, reason: `its health check crashed: ${oneLine(defect)}` })
    )
  )

/** A closed circuit. */
export const makeCircuit: Effect.Effect<Circuit> = Effect.map(Effect.clock, (clock: Clock.Clock): Circuit => {
  let state: Breaker = initial
  const now = () => clock.unsafeCurrentTimeMillis()
  const refusal = () => `not used for a while after ${threshold} failures in a row; the last: ${state.reason}`
  return {
    now,
    refusal,
    admit: () => {
      const [next, admitted] = admit(state, now())
      state = next
      return admitted
    },
    settle: (outcome) => {
      state = settle(state, outcome, now())
    },
    health: (own) =>
      Effect.suspend(() =>
        state._tag === "Closed" ? safeHealth(own) : Effect.succeed<Health>({ healthy: false, reason: refusal() })
      )
  }
})
