import { Context, Effect, Layer } from "effect"
import { FrameWheel } from "./FrameWheel.ts"
import { StallTime } from "./StallTime.ts"

/** The media clock: the frame wheel of the process and the time that drives it. */
export class Ticker extends Context.Tag("@svc/call-engine/Ticker")<
  Ticker,
  {
    readonly wheel: FrameWheel
    /** Monotonic milliseconds. */
    readonly now: () => number
    /** How long the process has stalled while a call had audio, in milliseconds. See {@link StallTime}. */
    readonly stalled: () => number
  }
>() {
  /** Real time. The timer runs only while a call has audio to send. */
  static readonly layer: Layer.Layer<Ticker> = Layer.scoped(
    Ticker,
    Effect.acquireRelease(
      Effect.sync(() => {
        let timer: NodeJS.Timeout | undefined
        let stopped = false
        const now = () => performance.now()
        const stalls = new StallTime(now)
        const loop = () => {
          timer = undefined
          stalls.fired()
          wheel.tickDueSlots(now() + 0.3, now)
          schedule()
        }
        const schedule = () => {
          stalls.wait(wheel.idle ? Number.POSITIVE_INFINITY : wheel.nextDue)
          if (stopped || wheel.idle || timer !== undefined) return
          timer = setTimeout(loop, Math.max(1, Math.ceil(wheel.nextDue - now() - 0.3)))
        }
        const wheel = new FrameWheel(() => schedule())
        const stop = () => {
          stopped = true
          clearTimeout(timer)
        }
        return { wheel, now, stalled: () => stalls.total, stop }
      }),
      ({ stop }) => Effect.sync(stop)
    )
  )
}
