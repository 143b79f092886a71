import type { Host } from "@svc/providers/Host"

/** Frames of 20 ms before the decision that are passed on too: the first sounds of speech are quiet. */
const framesBefore = 15

/** Passes on the frames in which someone speaks, for a vendor that charges for each second of audio. */
export const speechGate = (host: Host, sampleRate: number, pass: (frame: Int16Array) => void) => {
  const detector = host.makeVoiceActivity(sampleRate)
  let recent: Array<Int16Array> = []
  return {
    push: (frame: Int16Array): void => {
      // Nothing is played to the caller that could come back as an echo.
      detector.sent?.(undefined)
      const isSpeech = detector.push(frame) === "speech"
      // The frame is valid only during the call.
      recent.push(frame.slice())
      if (isSpeech) for (const one of recent.splice(0)) pass(one)
      else recent = recent.slice(-framesBefore)
    },
    /** Once, at the end of the stream. */
    close: (): void => detector.close?.()
  }
}
