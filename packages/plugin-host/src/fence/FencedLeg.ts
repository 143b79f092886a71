import type { CallEvent, CallLeg, CallView, LineQuality, PlaybackMarks } from "@svc/providers/Telephony"
import { errorSummary } from "../ErrorSummary.ts"
import { problemOf } from "./Shapes.ts"
import { callEvent, callLeg, lineQuality } from "./TelephonyShapes.ts"

const originals = new WeakMap<CallLeg, CallLeg>()

/** The plugin's own leg behind a fenced one, which the plugin does not know. */
export const originalOf = (leg: CallLeg): CallLeg => originals.get(leg) ?? leg

/**
 * A fenced call leg. A method that throws and an invalid event end the call once, as `failed`, and no event follows `Ended`. A requested
 * transfer has one outcome, others are dropped; after `completed` only `Ended` passes. The cost per frame is a flag and
 * a `try`. Its `marks` are those of the network where the leg names none.
 */
export const fencedLeg =
  (id: string, networkMarks?: PlaybackMarks) =>
  (leg: CallLeg): CallLeg => {
    let ended = false
    let transfer: "none" | "in progress" | "completed" = "none"
    let listener: ((event: CallEvent) => void) | undefined
    let pending: CallEvent | undefined

    const hangup = (reason: string) => {
      try {
        leg.hangup(reason)
      } catch {
        // The leg cannot be ended in any other way.
      }
    }
    const deliver = (event: CallEvent) => {
      if (ended) return
      const problem = problemOf(callEvent, event)
      if (problem !== undefined) return crash(new Error(`it emitted something invalid: ${problem}`))
      if (!passes(event)) return
      ended = event._tag === "Ended"
      listener?.(event)
    }
    const passes = (event: CallEvent): boolean => {
      if (event._tag === "Ended") return true
      if (event._tag !== "TransferProgress") return transfer !== "completed"
      if (transfer !== "in progress") return false
      if (event.state !== "ringing") transfer = event.state === "completed" ? "completed" : "none"
      return true
    }
    const crash = (defect: unknown) => {
      if (ended) return
      ended = true
      const event: CallEvent = { _tag: "Ended", cause: "failed", reason: `${id} crashed: ${errorSummary(defect)}` }
      if (listener === undefined) pending = event
      else listener(event)
      hangup("internal error")
    }
    const fence =
      <A extends ReadonlyArray<unknown>>(method: (...args: A) => void) =>
      (...args: A) => {
        if (ended) return
        try {
          method(...args)
        } catch (defect) {
          crash(defect)
        }
      }

    let last: LineQuality = { packetsLost: 0, packetsLate: 0, jitterMs: null }
    /** Also after the end. One that cannot be had is the one before it: figures must not end a call. */
    const quality = (): LineQuality => {
      try {
        const now = leg.quality?.()
        if (now !== undefined && problemOf(lineQuality, now) === undefined) last = now
      } catch {
        return last
      }
      return last
    }

    const fenced: CallLeg = {
      format: leg.format,
      listen: (installed) => {
        listener = installed
        if (pending !== undefined) return installed(pending)
        try {
          leg.listen(deliver)
        } catch (defect) {
          crash(defect)
        }
      },
      send: (frame) => {
        if (ended) return
        try {
          leg.send(frame)
        } catch (defect) {
          crash(defect)
        }
      },
      ...(leg.carrierCallId === undefined ? {} : { carrierCallId: leg.carrierCallId }),
      ...(leg.keyEvents === undefined ? {} : { keyEvents: leg.keyEvents }),
      ...(leg.aheadMs === undefined ? {} : { aheadMs: leg.aheadMs }),
      ...(leg.playoutDelayMs === undefined ? {} : { playoutDelayMs: leg.playoutDelayMs }),
      ...(leg.quality && { quality }),
      mark: fence((name: string) => leg.mark(name)),
      clear: fence(() => leg.clear()),
      hangup,
      ...(leg.sendDtmf === undefined ? {} : { sendDtmf: fence((digits: string) => leg.sendDtmf?.(digits)) }),
      ...(leg.hold === undefined ? {} : { hold: fence((on: boolean) => leg.hold?.(on)) }),
      ...(leg.show === undefined ? {} : { show: fence((view: CallView) => leg.show?.(view)) }),
      ...(leg.transferBlind === undefined
        ? {}
        : {
            transferBlind: fence((target: string) => {
              transfer = "in progress"
              leg.transferBlind?.(target)
            })
          })
    }
    const declared = leg.marks ?? networkMarks
    /** Read at each use, because the network may change it in a call. An invalid one changes nothing. */
    const marks = (): typeof declared => {
      try {
        return callLeg(leg) === undefined ? (leg.marks ?? declared) : declared
      } catch {
        return declared
      }
    }
    if (declared !== undefined) Object.defineProperty(fenced, "marks", { enumerable: true, get: marks })
    originals.set(fenced, leg)
    return fenced
  }
