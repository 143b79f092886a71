import { mulaw8k } from "@svc/providers/Audio"
import { mulawToPcm } from "@svc/providers/G711"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { type CallEvent, CallGone, type CallLeg, type IncomingCall, type RejectCause } from "@svc/providers/Telephony"
import { Deferred, Effect, Exit, FiberId } from "effect"
import { ToneDecoder } from "../ToneSpeech/ToneDecoder.ts"
import { CallerAudio } from "./CallerAudio.ts"
import { type LineFaults, LineNoise } from "./LineNoise.ts"
import type { MediaClock } from "./NetworkClock.ts"

const frameLength = 160
const pcm = new Int16Array(frameLength)

/** Events kept for a listener that is not there yet: 10 s of audio. */
const longestBacklog = 500

/** What a call is about, and how it reaches its phone and its network. */
export interface PhoneCallOptions {
  readonly id: string
  readonly from: string | null
  readonly to: string
  readonly faults: LineFaults
  readonly clock: MediaClock
  /** Sends to the phone. */
  readonly tell: (message: ServerMessage) => void
  /** Sends the agent's audio to the phone; absent when the phone did not ask for it. */
  readonly tellMedia?: (frame: Uint8Array) => void
  /** The engine gave the call its own id. */
  readonly named: (callId: string) => void
  /** Called once, however the call ended. */
  readonly over: () => void
}

/**
 * One call between a phone of the simulated network and the engine.
 *
 * | state    | event                     | next     | the phone hears      | the engine hears |
 * |----------|---------------------------|----------|----------------------|------------------|
 * | offered  | the engine rings          | ringing  | ringing              |                  |
 * | offered  | the engine rejects        | over     | rejected             |                  |
 * | ringing  | the engine rejects        | over     | hangup               |                  |
 * | both     | the engine answers        | answered | answered             |                  |
 * | both     | the caller hangs up       | over     |                      | canceled         |
 * | answered | the caller hangs up       | over     |                      | Ended hangup     |
 * | answered | the engine hangs up       | over     | hangup               |                  |
 * | any      | the connection breaks     | over     | hangup if it can     | Ended failed     |
 */
export class PhoneCall {
  readonly #options: PhoneCallOptions
  readonly #audio: CallerAudio
  readonly #ear: ToneDecoder
  readonly #canceled = Deferred.unsafeMake<void>(FiberId.none)
  #state: "offered" | "ringing" | "answered" | "over" = "offered"
  #listener: ((event: CallEvent) => void) | undefined
  #backlog: Array<CallEvent> = []

  /** `seed` makes the line's faults repeatable. */
  constructor(options: PhoneCallOptions, seed: number) {
    this.#options = options
    this.#audio = new CallerAudio(options.clock, new LineNoise(options.faults, seed), (payload) =>
      this.#emit({ _tag: "Audio", payload })
    )
    this.#ear = new ToneDecoder({
      started: () => {},
      progressed: (text) => options.tell({ event: "heard", text, final: false }),
      ended: (text) => {
        if (text !== "") options.tell({ event: "heard", text, final: true })
      }
    })
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
          return Effect.succeed(this.#leg)
        }),
      reject: (cause) => this.#reject(cause),
      canceled: Deferred.await(this.#canceled)
    }
  }

  /** The caller speaks. False when too much waits to be said. */
  say(text: string): boolean {
    return this.#audio.say(text)
  }

  /** Audio of the caller's phone. Before the answer nobody listens. */
  media(bytes: Uint8Array): void {
    if (this.#state === "answered") this.#audio.media(bytes)
  }

  dtmf(digits: string): void {
    for (const digit of digits) this.#emit({ _tag: "Dtmf", digit, source: "signaling" })
  }

  /** The caller hung up. */
  hangup(): void {
    this.#leave({ _tag: "Ended", cause: "hangup" })
  }

  /** The call broke. The phone is told as far as it can hear. */
  fail(reason: string): void {
    if (this.#leave({ _tag: "Ended", cause: "failed", reason })) {
      this.#options.tell({ event: "hangup", cause: reason })
    }
  }

  get #leg(): CallLeg {
    return {
      format: mulaw8k,
      listen: (listener) => {
        this.#listener = listener
        for (const event of this.#backlog.splice(0)) listener(event)
      },
      send: (frame) => this.#play(frame),
      // What was sent is heard at once, so nothing is ever between a mark and its answer.
      mark: (name) => this.#emit({ _tag: "Mark", name, outcome: "played" }),
      clear: () => {
        if (this.#state !== "answered") return
        this.#ear.cut()
        this.#options.tell({ event: "clear" })
      },
      hangup: (reason) => {
        if (this.#state !== "answered") return
        this.#finish()
        this.#options.tell({ event: "hangup", cause: reason })
      },
      sendDtmf: (digits) => {
        if (this.#state === "answered") this.#options.tell({ event: "dtmf", digits })
      }
    }
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

  #play(frame: Uint8Array): void {
    if (this.#state !== "answered") return
    for (let offset = 0; offset + frameLength <= frame.length; offset += frameLength) {
      mulawToPcm(frame, offset, frameLength, pcm, 0)
      this.#ear.push(pcm)
    }
    this.#options.tellMedia?.(frame)
  }

  #emit(event: CallEvent): void {
    if (this.#state === "answered") this.#deliver(event)
  }

  #deliver(event: CallEvent): void {
    if (this.#listener !== undefined) {
      this.#listener(event)
      return
    }
    if (this.#backlog.length === longestBacklog) this.#backlog.shift()
    // Audio is only valid during the call.
    this.#backlog.push(event._tag === "Audio" ? { _tag: "Audio", payload: event.payload.slice() } : event)
  }

  /** Ends the call from the caller's side. False when it is over already. */
  #leave(event: CallEvent): boolean {
    if (this.#state === "over") return false
    const answered = this.#state === "answered"
    this.#finish()
    if (answered) this.#deliver(event)
    else Deferred.unsafeDone(this.#canceled, Exit.void)
    return true
  }

  #finish(): void {
    this.#audio.stop()
    this.#ear.cut()
    this.#state = "over"
    this.#options.over()
  }
}
