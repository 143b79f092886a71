import { Context, Layer } from "effect"
import { hashOf } from "../Hash.ts"
import type { Realism } from "./Realism.ts"
import { Seeded } from "./Seeded.ts"

/** The number of calls that are kept; the oldest are dropped. */
const kept = 2000

/** What is counted in a call, from 1. */
export type Counted = "final" | "request" | "utterance" | "speech"

interface Entry {
  realism: Realism
  seed: number
  readonly counts: Map<Counted, number>
}

const ideal: Realism = {}

/**
 * The realism of each call. The scripted model finds it in the call's prompt when the engine prepares it, before the call
 * is answered; the other providers read it here at each use.
 */
export class CallRealism extends Context.Tag("@svc/plugin-simulated/CallRealism")<
  CallRealism,
  {
    /** Replaces the realism of a call. What was counted stays. */
    readonly set: (callId: string, realism: Realism | undefined) => void
    /** Without any fields for a call that has none. */
    readonly of: (callId: string) => Realism
    /** Counts one more. */
    readonly count: (callId: string, what: Counted) => number
    /** Random values that are the same for each call with this realism. */
    readonly random: (callId: string, what: Counted | "packet") => Seeded
  }
>() {
  static readonly layer: Layer.Layer<CallRealism> = Layer.sync(CallRealism, () => {
    const calls = new Map<string, Entry>()
    const entry = (callId: string): Entry => {
      const known = calls.get(callId)
      if (known !== undefined) return known
      const made: Entry = { realism: ideal, seed: 0, counts: new Map() }
      calls.set(callId, made)
      if (calls.size > kept) {
        for (const oldest of calls.keys()) {
          calls.delete(oldest)
          break
        }
      }
      return made
    }
    return {
      set: (callId, realism) => {
        if (realism === undefined && !calls.has(callId)) return
        const call = entry(callId)
        call.realism = realism ?? ideal
        call.seed = hashOf(JSON.stringify(call.realism))
      },
      of: (callId) => calls.get(callId)?.realism ?? ideal,
      count: (callId, what) => {
        const { counts } = entry(callId)
        const count = (counts.get(what) ?? 0) + 1
        counts.set(what, count)
        return count
      },
      random: (callId, what) => new Seeded((calls.get(callId)?.seed ?? 0) ^ hashOf(what))
    }
  })
}
