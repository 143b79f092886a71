import type { Health } from "@svc/providers/Health"
import { Clock, Context, Effect } from "effect"
import { StackOwners } from "./StackOwners.ts"

/** So many faults of a plugin within {@link windowMs} make its providers unhealthy. */
const threshold = 5
const windowMs = 60_000

/** The uncaught errors of one plugin since the start. */
export interface FaultCount {
  readonly plugin: string
  readonly count: number
}

interface Entry {
  count: number
  /** Times of the latest faults, in ms, oldest first; at most {@link threshold}. */
  times: ReadonlyArray<number>
}

/**
 * Uncaught errors of plugins outside of any call: in their timers, event listeners and promises. Their texts are in the
 * log only: whoever asks `/readyz` has no key.
 */
export class FaultRegister {
  readonly owners = new StackOwners()
  readonly #entries = new Map<string, Entry>()

  /** Counts a fault at `now`. Returns how many there have been. */
  record(plugin: string, now: number): number {
    const { count, times } = this.#entries.get(plugin) ?? { count: 0, times: [] }
    this.#entries.set(plugin, { count: count + 1, times: [...times, now].slice(-threshold) })
    return count + 1
  }

  counts(): ReadonlyArray<FaultCount> {
    return [...this.#entries].map(([plugin, { count }]) => ({ plugin, count }))
  }

  /** The health of a provider of the plugin, whose own is `own`. */
  health(plugin: string, own: Effect.Effect<Health>): Effect.Effect<Health> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const entry = this.#entries.get(plugin)
      const first = entry?.times[0]
      if (entry === undefined || first === undefined || entry.times.length < threshold || now - first > windowMs) {
        return own
      }
      const reason = `plugin ${plugin}: ${threshold} or more uncaught errors within a minute; the log has their texts`
      return Effect.succeed<Health>({ healthy: false, reason })
    })
  }
}

/**
 * The register of this process: what is uncaught reaches a process and not a layer, so there is one, which exists before
 * plugins are loaded.
 */
export class PluginFaults extends Context.Reference<PluginFaults>()("@svc/plugin-host/PluginFaults", {
  defaultValue: () => new FaultRegister()
}) {}
