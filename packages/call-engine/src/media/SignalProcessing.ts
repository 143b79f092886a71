import { Resampler } from "@svc/audio/Resampler"
import type { Host } from "@svc/providers/Host"
import { Effect } from "effect"
import { builtInVoiceActivity } from "./BuiltInVoiceActivity.ts"

/** The engine's signal processing, as plugins get it. */
export const signalProcessing: Effect.Effect<Pick<Host, "makeResampler" | "makeVoiceActivity">> = Effect.map(
  builtInVoiceActivity,
  ({ open }) => ({
    makeVoiceActivity: open,
    makeResampler: (from, to) => new Resampler(from, to)
  })
)
