import { Context } from "effect"

/** Detects speech in PCM16 frames; one detector per call. The engine has a built-in one; a plugin may bring a better. */
export interface VoiceActivityDetector {
  /** One 20 ms frame. Synchronous, allocation-free. */
  readonly push: (frame: Int16Array) => "speech" | "silence"
  /**
   * For how many milliseconds until now the sound itself has been speech, or silence. A detector that waits before it
   * decides tells by this when the change really was; without it, changes count as noticed at once.
   */
  readonly lasted?: (what: "speech" | "silence") => number
}

export class VoiceActivity extends Context.Tag("@svc/providers/VoiceActivity")<
  VoiceActivity,
  { readonly open: (sampleRate: number) => VoiceActivityDetector }
>() {}
