import loadFvad from "@echogarden/fvad-wasm"
import { FvadPool } from "@svc/audio/FvadPool"
import { SpeechDetector } from "@svc/audio/SpeechDetector"
import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import { type Context, Effect } from "effect"

/** The engine's own voice activity detectors. Dies if the WebAssembly module of fvad cannot be loaded. */
export const builtInVoiceActivity: Effect.Effect<Context.Tag.Service<VoiceActivity>> = Effect.tryPromise({
  try: () => loadFvad(),
  catch: (cause) => `cannot load @echogarden/fvad-wasm, install the dependencies again: ${cause}`
}).pipe(
  Effect.orDie,
  Effect.map((module) => {
    const pool = new FvadPool(module)
    return { open: (sampleRate) => new SpeechDetector(sampleRate, pool.open()) }
  })
)
