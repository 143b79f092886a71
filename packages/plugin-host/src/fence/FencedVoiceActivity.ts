import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import type { Context } from "effect"

type Service = Context.Tag.Service<VoiceActivity>

/** A detector behind a fence: one that throws hears silence from then on, and words still tell that someone speaks. */
export const fencedVoiceActivity = (activity: Service): Service => ({
  open: (sampleRate) => {
    try {
      const detector = activity.open(sampleRate)
      let broken = false
      return {
        push: (frame) => {
          if (broken) return "silence"
          try {
            return detector.push(frame)
          } catch {
            broken = true
            return "silence"
          }
        },
        lasted: (what) => {
          if (broken) return 0
          try {
            return detector.lasted?.(what) ?? 0
          } catch {
            broken = true
            return 0
          }
        }
      }
    } catch {
      return { push: () => "silence" }
    }
  }
})
