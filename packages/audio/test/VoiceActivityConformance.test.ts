import { voiceActivitySuite } from "@svc/providers/testing/VoiceActivitySuite"
import { VoiceActivity } from "@svc/providers/VoiceActivity"
import { Effect, Layer } from "effect"
import { SpeechDetector } from "../src/SpeechDetector.ts"
import { recordings } from "../src/testing/Recordings.ts"
import { louder } from "../src/testing/Signal.ts"
import { fvad } from "./Fvad.ts"

voiceActivitySuite({
  name: "the built-in voice activity detector",
  layer: Layer.effect(
    VoiceActivity,
    Effect.map(Effect.promise(fvad), (pool) => ({
      open: (sampleRate: number) => new SpeechDetector(sampleRate, pool.open())
    }))
  ),
  speak: (sampleRate) => {
    const signal = louder(recordings("callers")[3]?.signal ?? new Float32Array(), -26)
    const factor = sampleRate / 8000
    return Array.from({ length: Math.floor(signal.length / 160) }, (_, frame) =>
      Int16Array.from({ length: 160 * factor }, (_, i) => signal[frame * 160 + Math.floor(i / factor)] ?? 0)
    )
  }
})
