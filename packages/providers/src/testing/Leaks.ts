import { Effect, Supervisor } from "effect"
import { type CheckFailed, type CheckOptions, must, type Waits } from "./Check.ts"

/** Fibers, timers and sockets that exist briefly and are not leaks. */
const tolerance = 20

/**
 * Runs `session` many times, and fails the check when the number of fibers, timers, sockets or sessions at the peer has
 * grown. Memory and unref'ed timers are not counted.
 */
export const mustNotLeak = <I, R>(
  { quiet }: Waits,
  options: CheckOptions<I>,
  session: Effect.Effect<void, CheckFailed, R>
): Effect.Effect<void, CheckFailed, R> =>
  Effect.gen(function* () {
    const fibers = yield* Supervisor.track
    const count = Effect.gen(function* () {
      yield* quiet
      return {
        fibers: (yield* fibers.value).length,
        resources: process.getActiveResourcesInfo().length,
        peer: yield* options.openAtPeer ?? Effect.succeed(0)
      }
    })
    const sessions = options.sessions ?? 1000
    yield* Effect.gen(function* () {
      // The first sessions may create shared resources, such as a pool or a cache.
      yield* Effect.repeatN(session, 9)
      const before = yield* count
      yield* Effect.repeatN(session, sessions - 1)
      const after = yield* count
      const growth = (kind: keyof typeof before) => after[kind] - before[kind]
      yield* must(growth("fibers") <= tolerance, `${sessions} sessions left ${growth("fibers")} fibers behind`)
      yield* must(
        growth("resources") <= tolerance,
        `${sessions} sessions left ${growth("resources")} timers or sockets behind`
      )
      yield* must(growth("peer") <= 0, `${growth("peer")} of ${sessions} sessions are still open at the peer`)
    }).pipe(Effect.supervised(fibers))
  })
