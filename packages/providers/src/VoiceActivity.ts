import { Context } from "effect"

/** Detects speech in PCM16 frames; one detector per call. The engine has a built-in one; a plugin may bring a better. */
export interface VoiceActivityDetector {
  /** One 20 ms frame. Synchronous, allocation-free. */
  readonly push: (frame: Int16Array) => "speech" | "silence"
}

export class VoiceActivity extends Context.Tag("@svc/providers/VoiceActivity")<
  VoiceActivity,
  { readonly open: (sampleRate: number) => VoiceActivityDetector }
>() {}
