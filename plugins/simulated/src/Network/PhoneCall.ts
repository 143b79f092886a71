import { mulaw8k } from "@svc/providers/Audio"
import { CallGone, type IncomingCall, type RejectCause } from "@svc/providers/Telephony"
import { Deferred, Effect, Exit, FiberId } from "effect"
import { PhoneLeg, type PhoneLegOptions } from "./PhoneLeg.ts"

/** What a call is about, and how it reaches its phone and its network. */
export interface PhoneCallOptions extends Omit<PhoneLegOptions, "callId"> {
  readonly id: string
  readonly from: string | null
  readonly to: string
  /** The engine gave the call its own id. */
  readonly named: (callId: string) => void
}

/**
 * A call from a phone of the simulated network to the engine.
 *
 * | state    | event                     | next     | the phone hears      | the engine hears |
 * |----------|---------------------------|----------|----------------------|------------------|
 * | offered  | the engine rings          | ringing  | ringing              |                  |
 * | offered  | the engine rejects        | over     | rejected             |                  |
 * | ringing  | the engine rejects        | over     | hangup               |                  |
 * | both     | the engine answers        | answered | answered             |                  |
 * | both     | the caller hangs up       | over     |                      | canceled         |
 * | both     | the connection breaks     | over     | hangup if it can     | canceled         |
 * | answered | see {@link PhoneLeg}      |          |                      |                  |
 */
export class PhoneCall {
  readonly #options: PhoneCallOptions
  readonly #canceled = Deferred.unsafeMake<void>(FiberId.none)
  #state: "offered" | "ringing" | "answered" | "over" = "offered"
  #leg: PhoneLeg | undefined

  constructor(options: PhoneCallOptions) {
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
          if (!formats.some((f) => f.encoding === mulaw8k.encoding && f.sampleRate === mulaw8k.sampleRate)) {
            this.#reject("unavailable")
            return Effect.fail(new CallGone({ reason: "the simulated network speaks mu-law at 8 kHz only" }))
          }
          this.#state = "answered"
          this.#options.named(callId)
          this.#options.tell({ event: "answered", call_id: callId })
          this.#leg = new PhoneLeg({ ...this.#options, callId, over: () => this.#finish() })
          return Effect.succeed(this.#leg.leg)
        }),
      reject: (cause) => this.#reject(cause),
      canceled: Deferred.await(this.#canceled)
    }
  }

  /** The caller speaks. False when too much waits to be said. */
  say(text: string): boolean {
    return this.#leg?.say(text) ?? false
  }

  /** Audio of the caller's phone. Before the answer nobody listens. */
  media(bytes: Uint8Array): void {
    this.#leg?.media(bytes)
  }

  dtmf(digits: string): void {
    this.#leg?.dtmf(digits)
  }

  /** The caller hung up. */
  hangup(): void {
    if (this.#leg === undefined) this.#giveUp()
    else this.#leg.hangup()
  }

  /** The call broke. The phone is told as far as it can hear. */
  fail(reason: string): void {
    if (this.#leg !== undefined) this.#leg.fail(reason)
    else if (this.#giveUp()) this.#options.tell({ event: "hangup", cause: reason })
  }

  #ring(callId: string): void {
    if (this.#state !== "offered") return
    this.#state = "ringing"
    this.#options.named(callId)
    this.#options.tell({ event: "ringing" })
  }

  #reject(cause: RejectCause): void {
    if (this.#state !== "offered" && this.#state !== "ringing") return
    const event = this.#state === "offered" ? "rejected" : "hangup"
    this.#finish()
    this.#options.tell({ event, cause })
  }

  /** The caller is gone before the answer. False when the call is over already. */
  #giveUp(): boolean {
    if (this.#state === "over") return false
    this.#finish()
    Deferred.unsafeDone(this.#canceled, Exit.void)
    return true
  }

  #finish(): void {
    this.#state = "over"
    this.#options.over()
  }
}
