import { type Context, Duration, Effect } from "effect"
import type { NodeLease } from "./NodeLease.ts"

/**
 * The wait between two sweeps for work that other nodes left: `withOthers` while other nodes are alive, or else the longer
 * `alone`, because then only a node that has just started or stopped can have left work. Work of this node must wake the
 * sweep, or be work that may wait for `alone`.
 */
export const sweepInterval = (
  lease: Context.Tag.Service<typeof NodeLease>,
  withOthers: Duration.DurationInput,
  alone: Duration.DurationInput
): Effect.Effect<Duration.Duration> =>
  Effect.map(lease.others, (others) => Duration.decode(others > 0 ? withOthers : alone))
