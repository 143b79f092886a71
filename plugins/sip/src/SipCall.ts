import type { LegEvents } from "@svc/providers/LegEvents"
import { BridgeFailed, type CallLeg } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { CallMedia } from "./CallMedia.ts"
import type * as Call from "./dialog/Call.ts"
import type { CallEvent } from "./dialog/Output.ts"
import { InfoDigits } from "./InfoDigits.ts"
import * as PeerWatch from "./PeerWatch.ts"
import * as Transfer from "./Transfer.ts"

/** Milliseconds in which a transfer must have an outcome: those of the contract, less some for us. */
export const transferMs = 29_000

/** Milliseconds in which an attended transfer must have an outcome; the engine waits 10 s. */
const attendedMs = 8000

/** How often hold is offered when the offers of both sides meet. */
const maxHoldOffers = 8

/** Milliseconds after the outcome of an attended transfer, until the ends of its calls are reported. */
const afterOutcomeMs = 100

/** Milliseconds after a BYE in which audio is still accepted: what was sent before the BYE comes on another socket. */
const lastAudioMs = 20

export interface SipCallOptions {
  readonly carrierCallId: string
  readonly command: (command: Call.Command) => void
  /** Runs an effect that belongs to no fiber. */
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Calls back after some ms, unless `stop` was called. */
  readonly later: (ms: number, run: () => void) => void
  /** The call is over. */
  readonly stop: () => void
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly peerTimeouts: PeerWatch.PeerTimeouts
  /**
   * How a target is addressed in REFER, and by whom. It returns undefined when the peer cannot reach the target; it is
   * undefined when legs do not transfer.
   */
  readonly refer: ((target: string) => { readonly target: string; readonly by: string } | undefined) | undefined
  /** Whether the engine joins a second leg where REFER is refused. */
  readonly isFallback: boolean
}

/** An answered call: its leg, and what its signaling does to it. */
export class SipCall {
  readonly #options: SipCallOptions
  readonly #media: CallMedia
  readonly #infoDigits: InfoDigits
  readonly events: LegEvents
  #transfer: Transfer.Transfer | undefined
  #transfers = 0
  /** Gets the outcome of an attended transfer, which is no event of the leg. */
  #attended: ((progress: Transfer.Progress) => void) | undefined
  /** Ends of this call that wait for the outcome of an attended transfer to its peer. */
  #waitingEnds: Array<() => void> | undefined
  #isHeldByPeer = false
  /** Whether the session lets us send audio. */
  #maySend = true
  /** Whether the peer is to be held by us. */
  #wantsPeerOnHold = false
  /** While an offer of hold waits for its answer: how often it may be made again. */
  #offersLeft: number | undefined
  /** The peer has asked for an offer in the call, and answers it in its ACK. */
  #isAsked = false
  /** When the peer was there last, in monotonic ms. */
  #aliveAt: number
  #askedAt: number | undefined
  #mediaExpectedSince: number | undefined

  constructor(media: CallMedia, events: LegEvents, options: SipCallOptions) {
    this.#media = media
    this.events = events
    this.#options = options
    this.#infoDigits = new InfoDigits(options)
    this.#aliveAt = options.now()
  }

  /** To be called when the call is answered. The call ends when the peer is gone, or no longer sends anything. */
  watch(): void {
    const { command, later, now, peerTimeouts } = this.#options
    if (this.events.isOver) return
    const asked = now()
    this.#onDirection()
    const verdict = PeerWatch.verdict(this.#signs, peerTimeouts, asked)
    if (verdict._tag === "Ended") {
      this.#end("failed", verdict.code, verdict.reason)
      return
    }
    if (verdict._tag === "Probe") {
      this.#askedAt = asked
      command({ _tag: "Probe" })
    }
    later(verdict._tag === "Probe" ? peerTimeouts.probe : Math.max(1, verdict.until - asked), () => this.watch())
  }

  /**
   * Media is expected while both sides send, but not after comfort noise, which a silent peer may send once, nor while the
   * network transfers the call.
   */
  #expectMedia(): void {
    const { agreed, isInNoise } = this.#media
    const isExpected = agreed?.direction === "sendrecv" && !isInNoise && this.#transfer === undefined
    this.#mediaExpectedSince = isExpected ? (this.#mediaExpectedSince ?? this.#options.now()) : undefined
  }

  get #signs(): PeerWatch.PeerSigns {
    return {
      mediaAt: this.#media.heardAt,
      mediaExpectedSince: this.#mediaExpectedSince,
      aliveAt: this.#aliveAt,
      askedAt: this.#askedAt
    }
  }

  get leg(): CallLeg {
    const { carrierCallId, command, refer } = this.#options
    return {
      format: this.#media.format,
      carrierCallId,
      marks: "none",
      // Without telephone events the digits are heard in the audio, or come by INFO.
      keyEvents: this.#media.hasEvents,
      quality: () => ({
        ...(this.events.isOver ? this.#media.quality : this.#media.measure()),
        // The leg keeps its format, and the codec is that of the last negotiation.
        codec: this.#media.agreed?.codec.name ?? null
      }),
      listen: this.events.listen,
      send: (frame) => {
        if (!this.events.isOver) this.#media.send(frame)
      },
      mark: () => {},
      clear: () => this.#media.clear(),
      hangup: (reason) => this.#hangup(reason),
      sendDtmf: (digits) => this.#sendDigits(digits),
      hold: (on) => {
        this.#wantsPeerOnHold = on
        if (this.#offersLeft === undefined) this.#offerHold(maxHoldOffers)
      },
      ...(refer === undefined
        ? {}
        : {
            transferBlind: (target: string) => {
              if (this.events.isOver || this.#transfer !== undefined) return
              const transfer = Transfer.started
              this.#transfer = transfer
              this.#expectMedia()
              const addressed = refer(target)
              if (addressed === undefined) {
                const reason = "a phone that only this server reaches"
                this.#options.later(1, () => this.#onTransfer({ status: 404, reason, from: "refer" }))
                return
              }
              command({ _tag: "Refer", ...addressed })
              this.#giveUpAfter(transferMs)
            }
          })
    }
  }

  /**
   * Asks the peer to connect itself with the peer of another call, in place of us: an attended transfer. Both calls end after
   * it; where it is refused, or has no outcome in time, both go on. `target` names the other call.
   */
  connectTo(other: SipCall, target: string): Effect.Effect<void, BridgeFailed> {
    return Effect.async<void, BridgeFailed>((resume) => {
      const { command, later, refer } = this.#options
      const by = refer?.(target)?.by
      if (this.events.isOver || other.events.isOver || this.#transfer !== undefined || by === undefined) {
        resume(new BridgeFailed({ reason: "the call is over, or is transferred already" }))
        return
      }
      const release = other.#delayEnd()
      this.#transfer = Transfer.started
      this.#expectMedia()
      this.#attended = ({ reason, state }) => {
        this.#attended = undefined
        resume(state === "completed" ? Effect.void : new BridgeFailed({ reason: reason ?? state }))
        // The engine must get the outcome first.
        later(afterOutcomeMs, release)
      }
      command({ _tag: "Refer", target, by })
      this.#giveUpAfter(attendedMs)
    })
  }

  /** Ends the transfer that has just begun, when it has no outcome in time. */
  #giveUpAfter(ms: number): void {
    const number = ++this.#transfers
    this.#options.later(ms, () => {
      const reason = `no outcome came within ${Math.round(ms / 1000)} s`
      if (number === this.#transfers) this.#onTransfer({ status: 408, reason, from: "notify" })
    })
  }

  /** Delays the end of this call until the function that it returns is called. */
  #delayEnd(): () => void {
    this.#waitingEnds = []
    return () => {
      const ends = this.#waitingEnds ?? []
      this.#waitingEnds = undefined
      for (const end of ends) end()
    }
  }

  /** Takes an event of the signaling. */
  on(event: CallEvent): void {
    const { command } = this.#options
    switch (event._tag) {
      case "EarlyAnswered":
        // The PRACK of our 180 came after our answer.
        this.#aliveAt = this.#options.now()
        this.#onAnswer(event.sdp, "PRACK")
        return
      case "Confirmed":
        this.#aliveAt = this.#options.now()
        this.#media.acknowledged()
        // The offer was ours and is answered in the ACK.
        if (this.#media.agreed !== undefined && (event.sdp === undefined || !this.#isAsked)) return
        this.#isAsked = false
        if (event.sdp === undefined) this.#end("failed", undefined, "the ACK has no answer to our offer")
        else this.#onAnswer(event.sdp, "ACK")
        return
      case "Offered": {
        this.#isAsked = event.sdp === undefined
        const sdp = event.sdp === undefined ? this.#media.offer() : this.#media.answer(event.sdp)
        if (sdp === undefined) {
          const { warning } = this.#media
          command({ _tag: "Decline", key: event.key, status: 488, reason: "Not Acceptable Here", warning })
          return
        }
        this.#onDirection()
        command({ _tag: "Accept", key: event.key, sdp })
        return
      }
      case "Refreshed":
        // An answer that cannot be used changes nothing: the call goes on as it was.
        if (this.#media.accept(event.sdp)) this.#onDirection()
        this.#offersLeft = undefined
        // It may have changed while the offer was under way.
        this.#offerHold(maxHoldOffers)
        return
      case "OfferRefused":
        this.#onOfferRefused(event.againMs)
        return
      case "DigitAnswered":
        this.#infoDigits.answered()
        return
      case "Alive":
        this.#aliveAt = this.#options.now()
        return
      case "Digit":
        this.events.emit({ _tag: "Dtmf", digit: event.digit, source: "signaling" })
        return
      case "Transfer":
        this.#onTransfer({ ...event, reason: Transfer.reasonOf(event) })
        return
      case "Ended":
        this.#ended(event.ending)
        return
      default:
        return
    }
  }

  /** Takes the answer to our offer in the 200 or the 180; `method` has it. */
  #onAnswer(sdp: Uint8Array, method: "ACK" | "PRACK"): void {
    if (this.#media.accept(sdp)) this.#onDirection()
    else this.#end("failed", undefined, `the answer in the ${method} has ${this.#media.obstacleText}`)
  }

  /** Ends the call at once, such as when the process stops. */
  #hangup(reason: string): void {
    if (this.events.isOver) return
    this.events.close()
    this.#options.stop()
    this.#options.fork(this.#media.close)
    this.#options.command({ _tag: "Hangup", reason })
  }

  #end(cause: "hangup" | "failed", code: string | undefined, reason: string | undefined): void {
    if (this.events.isOver) return
    if (this.#waitingEnds !== undefined) {
      this.#waitingEnds.push(() => this.#end(cause, code, reason))
      return
    }
    this.#options.stop()
    this.#options.fork(this.#media.close)
    this.events.emit({
      _tag: "Ended",
      cause,
      ...(code === undefined ? {} : { code }),
      ...(reason === undefined ? {} : { reason })
    })
    this.#options.command({ _tag: "Hangup", reason: reason ?? cause })
  }

  #ended({ cause, code, reason }: Extract<CallEvent, { readonly _tag: "Ended" }>["ending"]): void {
    if (this.#attended !== undefined) {
      this.#onTransfer({ status: cause === "failed" ? 500 : 200, reason: reason ?? cause, from: "notify" })
      this.#options.later(afterOutcomeMs, () => this.#end(cause === "failed" ? "failed" : "hangup", code, reason))
      return
    }
    // Many trunks hang up the old call once the transfer is done, before or instead of all NOTIFYs. A call that broke
    // is not transferred.
    const { hasRung = false, isAccepted = false } = this.#transfer ?? {}
    if (cause === "hangup" && (hasRung || isAccepted)) this.#onTransfer({ status: 200, reason: "OK", from: "notify" })
    const end = (): void => this.#end(cause === "failed" ? "failed" : "hangup", code, reason)
    if (cause === "failed") end()
    else this.#options.later(lastAudioMs, end)
  }

  #onTransfer(report: Transfer.Report): void {
    if (this.#transfer === undefined) return
    const { next, progress } = Transfer.step(this.#transfer, report, this.#options.isFallback)
    this.#transfer = next === "done" ? undefined : next
    this.#expectMedia()
    if (progress === undefined) return
    const isDone = progress.state === "completed"
    const end = (): void => this.#end("hangup", undefined, "the caller was transferred")
    if (this.#attended !== undefined) {
      if (progress.state === "ringing") return
      this.#attended(progress)
      if (isDone) this.#options.later(afterOutcomeMs, end)
      return
    }
    this.events.emit(progress)
    if (isDone) end()
  }

  /** Offers hold or its end, unless the peer is in that state already. `left`: how often it may be offered. */
  #offerHold(left: number): void {
    if (this.events.isOver || left === 0 || this.#wantsPeerOnHold === this.#media.holdsPeer) return
    this.#offersLeft = left - 1
    this.#media.holdsPeer = this.#wantsPeerOnHold
    this.#options.command({ _tag: "Offer", sdp: this.#media.offer() })
  }

  /** The former negotiation stays in effect. `againMs`: both sides made an offer at once. */
  #onOfferRefused(againMs: number | undefined): void {
    if (this.#offersLeft === undefined) return
    const left = this.#offersLeft
    this.#offersLeft = undefined
    this.#media.holdsPeer = !this.#media.holdsPeer
    if (againMs !== undefined) this.#options.later(againMs, () => this.#offerHold(left))
  }

  #onDirection(): void {
    const direction = this.#media.agreed?.direction
    const isHeld = direction === "recvonly" || direction === "inactive"
    this.#expectMedia()
    // What may not be sent is not played: the engine keeps it until the call is taken back.
    if (isHeld === this.#maySend) {
      this.#maySend = !isHeld
      this.events.emit({ _tag: "Media", on: this.#maySend })
    }
    // Held by us, the peer answers accordingly.
    if (isHeld === this.#isHeldByPeer || this.#media.holdsPeer) return
    this.#isHeldByPeer = isHeld
    this.events.emit({ _tag: "Hold", on: isHeld })
  }

  #sendDigits(digits: string): void {
    if (this.events.isOver || this.#media.sendDigits(digits)) return
    this.#infoDigits.send(digits)
  }
}
