import type { CallLeg, IncomingCall, LineQuality, Outbound } from "@svc/providers/Telephony"
import { Effect } from "effect"

/** A call that rings or is answered. */
export interface ListedCall {
  readonly direction: "inbound" | "outbound"
  readonly from: string | null
  readonly to: string
  readonly state: "ringing" | "answered"
  /** Seconds in this state. */
  readonly seconds: number
  /** Of an answered call. */
  readonly quality: LineQuality | undefined
}

/** The packets of ended calls, added up. */
export interface LineTotals {
  readonly calls: number
  readonly packetsLost: number
  readonly packetsLate: number
}

interface Entry {
  readonly direction: ListedCall["direction"]
  readonly from: string | null
  readonly to: string
  readonly at: number
  leg: CallLeg | undefined
}

/** The calls of this process, for `svc sip status`, from the calls and legs that the engine gets. */
export class LiveCallList {
  readonly #entries = new Set<Entry>()
  readonly #now: () => number
  #calls = 0
  #lost = 0
  #late = 0

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** The oldest first. */
  get calls(): ReadonlyArray<ListedCall> {
    return [...this.#entries].map(({ at, direction, from, leg, to }) => ({
      direction,
      from,
      to,
      state: leg === undefined ? "ringing" : "answered",
      seconds: Math.max(0, Math.round((this.#now() - at) / 1000)),
      quality: leg?.quality?.()
    }))
  }

  /** The answered calls that have ended since the start. */
  get ended(): LineTotals {
    return { calls: this.#calls, packetsLost: this.#lost, packetsLate: this.#late }
  }

  /** The same call, which is listed until it ends. */
  readonly incoming = (call: IncomingCall): IncomingCall => {
    const ringing = this.#add("inbound", call.from, call.to)
    return {
      ...call,
      answer: (options) =>
        Effect.map(call.answer(options), (leg) => this.#answered(ringing, leg)).pipe(
          Effect.ensuring(Effect.sync(() => this.#entries.delete(ringing)))
        ),
      reject: (cause, reason) => {
        this.#entries.delete(ringing)
        call.reject(cause, reason)
      },
      canceled: Effect.tap(call.canceled, () => Effect.sync(() => this.#entries.delete(ringing)))
    }
  }

  /** The same, whose calls are listed until they end. */
  readonly outbound = ({ dial }: Outbound): Outbound => ({
    dial: (call, progress) =>
      Effect.suspend(() => {
        const ringing = this.#add("outbound", call.from, call.to)
        return Effect.map(dial(call, progress), (leg) => this.#answered(ringing, leg)).pipe(
          Effect.ensuring(Effect.sync(() => this.#entries.delete(ringing)))
        )
      })
  })

  #add(direction: Entry["direction"], from: string | null, to: string): Entry {
    const entry: Entry = { direction, from, to, at: this.#now(), leg: undefined }
    this.#entries.add(entry)
    return entry
  }

  #answered(ringing: Entry, leg: CallLeg): CallLeg {
    const entry: Entry = { ...ringing, at: this.#now(), leg }
    this.#entries.delete(ringing)
    this.#entries.add(entry)
    const over = (): void => {
      if (!this.#entries.delete(entry)) return
      const quality = leg.quality?.()
      this.#calls++
      this.#lost += quality?.packetsLost ?? 0
      this.#late += quality?.packetsLate ?? 0
    }
    return {
      ...leg,
      listen: (listener) =>
        leg.listen((event) => {
          if (event._tag === "Ended") over()
          listener(event)
        }),
      hangup: (reason) => {
        over()
        leg.hangup(reason)
      }
    }
  }
}
