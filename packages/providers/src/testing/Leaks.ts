import { Effect, Supervisor } from "effect"
import { type Bench, type CheckFailed, type CheckOptions, must } from "./Check.ts"

/** Timers and the like that come and go without being anyone's leak. */
const slack = 20

/**
 * Runs `session` many times, and fails when fibers, timers, sockets or what the author counts at the peer have grown with it.
 * Memory is not looked at, because it says nothing reliable in a test; nor are timers that were unref'ed.
 */
export const leavesNothing = <I, S, R>(
  bench: Bench<I, S>,
  options: CheckOptions<I>,
  session: Effect.Effect<void, CheckFailed, R>
): Effect.Effect<void, CheckFailed, R> =>
  Effect.gen(function* () {
    const fibers = yield* Supervisor.track
    const count = Effect.gen(function* () {
      yield* bench.quiet
      return {
        fibers: (yield* fibers.value).length,
        resources: process.getActiveResourcesInfo().length,
        peer: yield* options.openAtPeer ?? Effect.succeed(0)
      }
    })
    const sessions = options.sessions ?? 1000
    yield* Effect.gen(function* () {
      // The first ones may set up what all share: a pool, a cache.
      yield* Effect.repeatN(session, 9)
      const before = yield* count
      yield* Effect.repeatN(session, sessions - 1)
      const after = yield* count
      const grown = (kind: keyof typeof before) => after[kind] - before[kind]
      yield* must(grown("fibers") <= slack, `${grown("fibers")} fibers are left over from ${sessions} sessions`)
      yield* must(
        grown("resources") <= slack,
        `${grown("resources")} timers or sockets are left over from ${sessions} sessions`
      )
      yield* must(grown("peer") <= 0, `the peer still holds ${grown("peer")} of ${sessions} sessions`)
    }).pipe(Effect.supervised(fibers))
  })
