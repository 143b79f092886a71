import { CallGone, type IncomingCall, type RejectCause } from "@svc/providers/Telephony"
import { Deferred, Effect, Exit, FiberId } from "effect"
import { lawAmong } from "../Law.ts"
import { PhoneLeg, type PhoneLegOptions } from "./PhoneLeg.ts"

/** Why a call cannot be connected in any of the engine's formats. */
export const unknownFormat = "the simulated network speaks mu-law and A-law at 8 kHz only"

/** A call and its connections to the phone and the network. */
export interface InboundCallOptions extends Omit<PhoneLegOptions, "callId" | "law"> {
  readonly id: string
  readonly from: string | null
  readonly to: string
  /** Called with the engine's id of the call. */
  readonly onCallId: (callId: string) => void
}

/**
 * A call from a phone of the simulated network to the platform.
 *
 * | state    | event                     | next     | phone receives       | engine receives  |
 * |----------|---------------------------|----------|----------------------|------------------|
 * | offered  | the engine rings          | ringing  | ringing              |                  |
 * | offered  | the engine rejects        | over     | rejected             |                  |
 * | ringing  | the engine rejects        | over     | hangup               |                  |
 * | both     | the engine answers        | answered | answered             |                  |
 * | both     | the caller hangs up       | over     |                      | canceled         |
 * | both     | the connection breaks     | over     | hangup if it can     | canceled         |
 * | answered | see {@link PhoneLeg}      |          |                      |                  |
 */
export class InboundCall {
  readonly #options: InboundCallOptions
  readonly #canceled = Deferred.unsafeMake<void>(FiberId.none)
  #state: "offered" | "ringing" | "answered" | "over" = "offered"
  #leg: PhoneLeg | undefined

  constructor(options: InboundCallOptions) {
    this.#options = options
  }

  get answered(): boolean {
    return this.#state === "answered"
  }

  /** The call as the engine sees it before it decides. */
  get incoming(): IncomingCall {
    return {
      id: this.#options.id,
      from: this.#options.from,
      to: this.#options.to,
      headers: {},
      ringing: (callId) => this.#ring(callId),
      answer: ({ callId, formats }) =>
        Effect.suspend(() => {
          if (this.#state === "over") return Effect.fail(new CallGone({ reason: "the caller hung up" }))
          if (this.#state === "answered") return Effect.fail(new CallGone({ reason: "the call is answered already" }))
          const law = lawAmong(formats, this.#options.realism.of(callId)?.format)
          if (law === undefined) {
            this.#reject("unavailable")
            return Effect.fail(new CallGone({ reason: unknownFormat, failed: true }))
          }
          this.#state = "answered"
          this.#options.onCallId(callId)
          this.#options.send({ event: "answered", call_id: callId })
          this.#leg = new PhoneLeg({ ...this.#options, callId, law, onEnded: () => this.#finish() })
          return Effect.succeed(this.#leg.leg)
        }),
      reject: (cause) => this.#reject(cause),
      canceled: Deferred.await(this.#canceled)
    }
  }

  /** Speaks a text as the caller. False when the queue is full. */
  say(text: string): boolean {
    return this.#leg?.say(text) ?? false
  }

  /** Takes audio of the caller's phone. It is dropped before the answer. */
  media(bytes: Uint8Array): void {
    this.#leg?.media(bytes)
  }

  dtmf(digits: string): void {
    this.#leg?.dtmf(digits)
  }

  /** The caller hung up. */
  hangup(): void {
    if (this.#leg === undefined) this.#cancel()
    else this.#leg.hangup()
  }

  /** Ends the call as failed and sends `hangup` to the phone if it is connected. */
  fail(reason: string): void {
    if (this.#leg !== undefined) this.#leg.fail(reason)
    else if (this.#cancel()) this.#options.send({ event: "hangup", cause: reason })
  }

  #ring(callId: string): void {
    if (this.#state !== "offered") return
    this.#state = "ringing"
    this.#options.onCallId(callId)
    this.#options.send({ event: "ringing" })
  }

  #reject(cause: RejectCause): void {
    if (this.#state !== "offered" && this.#state !== "ringing") return
    const event = this.#state === "offered" ? "rejected" : "hangup"
    this.#finish()
    this.#options.send({ event, cause: cause === "unknown-number" ? "unavailable" : cause })
  }

  /** The caller hung up before the answer. False when the call is already over. */
  #cancel(): boolean {
    if (this.#state === "over") return false
    this.#finish()
    Deferred.unsafeDone(this.#canceled, Exit.void)
    return true
  }

  #finish(): void {
    this.#state = "over"
    this.#options.onEnded()
  }
}
