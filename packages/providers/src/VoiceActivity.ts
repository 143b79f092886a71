import { Context } from "effect"

/** Detects speech in PCM16 frames; one detector per call. The engine has one of its own, which a plugin may replace. */
export interface VoiceActivityDetector {
  /** Takes one 20 ms frame. Synchronous, without allocation. */
  readonly push: (frame: Int16Array) => "speech" | "silence"
  /**
   * For how many milliseconds the audio has been speech, or silence, until now. A detector that decides with a delay
   * reports the real time of the change by this; without it a change is dated to the frame that reported it.
   */
  readonly lasted?: (state: "speech" | "silence") => number
}

export class VoiceActivity extends Context.Tag("@svc/providers/VoiceActivity")<
  VoiceActivity,
  { readonly open: (sampleRate: number) => VoiceActivityDetector }
>() {}
