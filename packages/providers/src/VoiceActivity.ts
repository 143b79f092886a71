import { Context } from "effect"

/** Detects speech in PCM16 frames; one detector per call. The engine has one of its own, which a plugin may replace. */
export interface VoiceActivityDetector {
  /** Takes one 20 ms frame. Synchronous, without allocation. */
  readonly push: (frame: Int16Array) => "speech" | "silence"
  /**
   * For how many milliseconds the audio has been speech, or silence, until now, with the frames that decided it. A
   * detector that decides with a delay reports the real time of the change by this; without it a change is dated to the
   * frame that reported it.
   */
  readonly lasted?: (state: "speech" | "silence") => number
  /**
   * Takes what was sent to the caller in the same 20 ms as the frame of the next `push`; undefined is silence. By this a
   * detector recognizes the agent's own echo. Called before each `push`. Synchronous, without allocation; the frame is
   * valid only during the call.
   */
  readonly sent?: (frame: Int16Array | undefined) => void
  /** Releases what the detector holds. Called once, at the end of the call; nothing is called afterwards. */
  readonly close?: () => void
}

export class VoiceActivity extends Context.Tag("@svc/providers/VoiceActivity")<
  VoiceActivity,
  { readonly open: (sampleRate: number) => VoiceActivityDetector }
>() {}
