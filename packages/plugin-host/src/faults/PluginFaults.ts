import type { Health } from "@svc/providers/Health"
import { Clock, Context, Effect } from "effect"
import { StackOwners } from "./StackOwners.ts"

/** So many faults of a plugin within {@link windowMs} make its providers unhealthy. */
const threshold = 5
const windowMs = 60_000

/** `error`: nobody caught it. `stall`: a function held the thread for long. */
export type FaultKind = "error" | "stall"

/** The faults of one plugin since the start. */
export interface FaultCount {
  readonly plugin: string
  readonly errors: number
  readonly stalls: number
}

interface Entry {
  readonly errors: number
  readonly stalls: number
  /** Times of the latest faults, in ms, oldest first; at most {@link threshold}. */
  readonly times: ReadonlyArray<number>
}

/**
 * Faults of plugins outside of any call, in their timers, event listeners and promises: uncaught errors, and functions that
 * hold the thread. Their texts are in the
 * log only: whoever asks `/readyz` has no key.
 */
export class FaultRegister {
  readonly owners = new StackOwners()
  readonly #entries = new Map<string, Entry>()

  /** Counts a fault at `now`. Returns how many of its kind there have been. */
  record(plugin: string, now: number, kind: FaultKind = "error"): number {
    const { errors, stalls, times } = this.#entries.get(plugin) ?? { errors: 0, stalls: 0, times: [] }
    const entry: Entry = {
      errors: errors + (kind === "error" ? 1 : 0),
      stalls: stalls + (kind === "stall" ? 1 : 0),
      times: [...times, now].slice(-threshold)
    }
    this.#entries.set(plugin, entry)
    return kind === "error" ? entry.errors : entry.stalls
  }

  counts(): ReadonlyArray<FaultCount> {
    return [...this.#entries].map(([plugin, { errors, stalls }]) => ({ plugin, errors, stalls }))
  }

  /** The health of a provider of the plugin, whose own is `own`. */
  health(plugin: string, own: Effect.Effect<Health>): Effect.Effect<Health> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const entry = this.#entries.get(plugin)
      const first = entry?.times[0]
      if (entry === undefined || first === undefined || entry.times.length < threshold || now - first > windowMs) {
        return own
      }
      const what = entry.stalls === 0 ? "uncaught errors" : "uncaught errors or stalls"
      const reason = `plugin ${plugin}: ${threshold} or more ${what} within a minute; the log has their texts`
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
