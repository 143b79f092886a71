import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import type { Context } from "effect"

type Service = Context.Tag.Service<VoiceActivity>

/**
 * A fenced voice activity detector: after a throw it reports silence. Transcripts then still show that the caller
 * speaks.
 */
export const fencedVoiceActivity = (activity: Service): Service => ({
  open: (sampleRate) => {
    try {
      const detector = activity.open(sampleRate)
      let broken = false
      const { sent } = detector
      return {
        push: (frame) => {
          if (broken) return "silence"
          try {
            // Anything else than speech is silence, whatever its type.
            return detector.push(frame) === "speech" ? "speech" : "silence"
          } catch {
            broken = true
            return "silence"
          }
        },
        lasted: (state) => {
          if (broken) return 0
          try {
            const lasted = detector.lasted?.(state) ?? 0
            return Number.isFinite(lasted) && lasted > 0 ? lasted : 0
          } catch {
            broken = true
            return 0
          }
        },
        ...(sent === undefined
          ? {}
          : {
              sent: (frame) => {
                if (broken) return
                try {
                  detector.sent?.(frame)
                } catch {
                  broken = true
                }
              }
            }),
        close: () => {
          broken = true
          try {
            detector.close?.()
          } catch {
            // It is not used any more.
          }
        }
      }
    } catch {
      return { push: () => "silence", lasted: () => 0 }
    }
  }
})
