import type { Health } from "@svc/providers/Health"
import { Cause, Duration, Effect } from "effect"
import { plainError } from "../ErrorSummary.ts"
import { problemOf } from "./Shapes.ts"
import { health } from "./TelephonyShapes.ts"

/** How long a provider's health check may take. */
const healthDeadline = Duration.seconds(3)
/** How long a network may be asked whether it works. */
export const checkDeadline = Duration.seconds(30)

/** A provider's health effect that never fails or hangs: a defect or a timeout counts as unhealthy. */
export const fencedHealth = (own: Effect.Effect<Health>, deadline = healthDeadline): Effect.Effect<Health> =>
  Effect.suspend(() => own).pipe(
    Effect.disconnect,
    Effect.timeoutTo({
      duration: deadline,
      onSuccess: (reported: Health): Health => {
        const problem = problemOf(health, reported)
        return problem === undefined ? reported : { healthy: false, reason: `its health check is wrong: ${problem}` }
      },
      onTimeout: (): Health => ({
        healthy: false,
        reason: `did not report its health within ${Duration.format(deadline)}`
      })
    }),
    // The text of the exception is for the log only: whoever asks `/readyz` has no key.
    Effect.catchAllDefect((defect) =>
      Effect.as(Effect.logWarning("The health check of a plugin crashed", Cause.die(plainError(defect))), {
        healthy: false,
        reason: "its health check crashed; the log says why"
      } satisfies Health)
    )
  )
