import { type Context, Duration, Effect } from "effect"
import type { NodeLease } from "./NodeLease.ts"

/**
 * The wait between two sweeps for work that other nodes left: `withOthers` while other nodes are alive, or else the longer
 * `alone`, because hardly anybody can have left work without waking this node. Only for sweeps that are woken for the work
 * of their own node.
 */
export const sweepInterval = (
  lease: Context.Tag.Service<typeof NodeLease>,
  withOthers: Duration.DurationInput,
  alone: Duration.DurationInput
): Effect.Effect<Duration.Duration> =>
  Effect.map(lease.others, (others) => Duration.decode(others > 0 ? withOthers : alone))
