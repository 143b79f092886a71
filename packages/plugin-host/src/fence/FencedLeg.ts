import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { oneLine } from "../loader/OneLine.ts"

/**
 * A call's media behind a fence: a method that throws ends the call as `failed`, once, and nothing follows `Ended`. Of a
 * transfer one outcome passes, and none that was not asked for; after `completed` only the end. Frames pay a flag and a try.
 */
export const fencedLeg =
  (id: string) =>
  (leg: CallLeg): CallLeg => {
    let over = false
    let transfer: "none" | "under way" | "completed" = "none"
    let listener: ((event: CallEvent) => void) | undefined
    let pending: CallEvent | undefined

    const hangup = (reason: string) => {
      try {
        leg.hangup(reason)
      } catch {
        // There is nothing left to end it with.
      }
    }
    const deliver = (event: CallEvent) => {
      if (over || !passes(event)) return
      over = event._tag === "Ended"
      listener?.(event)
    }
    const passes = (event: CallEvent): boolean => {
      if (event._tag === "Ended") return true
      if (event._tag !== "TransferProgress") return transfer !== "completed"
      if (transfer !== "under way") return false
      if (event.state !== "ringing") transfer = event.state === "completed" ? "completed" : "none"
      return true
    }
    const broken = (defect: unknown) => {
      if (over) return
      over = true
      const event: CallEvent = { _tag: "Ended", cause: "failed", reason: `${id} crashed: ${oneLine(defect)}` }
      if (listener === undefined) pending = event
      else listener(event)
      hangup("internal error")
    }
    const guard =
      <A extends ReadonlyArray<unknown>>(method: (...args: A) => void) =>
      (...args: A) => {
        if (over) return
        try {
          method(...args)
        } catch (defect) {
          broken(defect)
        }
      }

    return {
      format: leg.format,
      listen: (installed) => {
        listener = installed
        if (pending !== undefined) return installed(pending)
        try {
          leg.listen(deliver)
        } catch (defect) {
          broken(defect)
        }
      },
      send: (frame) => {
        if (over) return
        try {
          leg.send(frame)
        } catch (defect) {
          broken(defect)
        }
      },
      mark: guard((name: string) => leg.mark(name)),
      clear: guard(() => leg.clear()),
      hangup,
      ...(leg.sendDtmf === undefined ? {} : { sendDtmf: guard((digits: string) => leg.sendDtmf?.(digits)) }),
      ...(leg.transferBlind === undefined
        ? {}
        : {
            transferBlind: guard((target: string) => {
              transfer = "under way"
              leg.transferBlind?.(target)
            })
          })
    }
  }
