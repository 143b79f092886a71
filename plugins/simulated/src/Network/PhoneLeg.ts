import { mulaw8k } from "@svc/providers/Audio"
import { mulawToPcm } from "@svc/providers/G711"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { ToneDecoder } from "../ToneSpeech/ToneDecoder.ts"
import { CallerAudio } from "./CallerAudio.ts"
import { type LineFaults, LineNoise } from "./LineNoise.ts"
import type { MediaClock } from "./NetworkClock.ts"
import type { StartTransfer, TransferUnderWay } from "./Transfers.ts"

const frameLength = 160
const pcm = new Int16Array(frameLength)

/** Events kept for a listener that is not there yet: 10 s of audio. */
const longestBacklog = 500

/** How an answered call reaches its phone and its network. */
export interface PhoneLegOptions {
  /** The engine's id of the call. */
  readonly callId: string
  readonly faults: LineFaults
  /** Makes the line's faults repeatable. */
  readonly seed: number
  readonly clock: MediaClock
  /** Sends to the phone. */
  readonly tell: (message: ServerMessage) => void
  /** Sends the agent's audio to the phone; absent when the phone did not ask for it. */
  readonly tellMedia?: ((frame: Uint8Array) => void) | undefined
  readonly transfer: StartTransfer
  /** Called once, however the call ended. */
  readonly over: () => void
}

/**
 * An answered call between a phone of the simulated network and the engine, whoever called. Once it is transferred, the
 * phone is with the destination: the engine hears nothing of it but the end.
 *
 * | state       | event                    | next        | the phone hears | the engine hears           |
 * |-------------|--------------------------|-------------|-----------------|----------------------------|
 * | with us     | the phone hangs up       | over        |                 | Ended hangup               |
 * | with us     | the engine hangs up      | over        | hangup          |                            |
 * | with us     | a transfer fails         | with us     |                 | TransferProgress           |
 * | with us     | a transfer comes through | transferred | transferred     | TransferProgress completed |
 * | transferred | either party hangs up    | over        | hangup          | Ended hangup               |
 * | any         | the connection breaks    | over        | hangup if it can | Ended failed              |
 */
export class PhoneLeg {
  readonly answered = true
  readonly #options: PhoneLegOptions
  readonly #audio: CallerAudio
  readonly #ear: ToneDecoder
  #state: "with us" | "transferred" | "over" = "with us"
  #transfer: TransferUnderWay | undefined
  #listener: ((event: CallEvent) => void) | undefined
  #backlog: Array<CallEvent> = []

  constructor(options: PhoneLegOptions) {
    this.#options = options
    this.#audio = new CallerAudio(options.clock, new LineNoise(options.faults, options.seed), (payload) =>
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

  /** The phone speaks. False when too much waits to be said. */
  say(text: string): boolean {
    if (this.#state !== "transferred") return this.#audio.say(text)
    this.#transfer?.say(text)
    return true
  }

  /** The phone beeps, after what it says. */
  beep(): void {
    this.#audio.beep()
  }

  /** Audio of the phone itself. */
  media(bytes: Uint8Array): void {
    if (this.#state === "with us") this.#audio.media(bytes)
  }

  dtmf(digits: string): void {
    for (const digit of digits) this.#emit({ _tag: "Dtmf", digit, source: "signaling" })
  }

  /** The phone hung up. */
  hangup(): void {
    this.#leave({ _tag: "Ended", cause: "hangup" })
  }

  /** The call broke. The phone is told as far as it can hear. */
  fail(reason: string): void {
    if (this.#leave({ _tag: "Ended", cause: "failed", reason })) {
      this.#options.tell({ event: "hangup", cause: reason })
    }
  }

  get leg(): CallLeg {
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
        if (this.#state !== "with us") return
        this.#ear.cut()
        this.#options.tell({ event: "clear" })
      },
      hangup: (reason) => {
        if (this.#state === "over") return
        this.#finish()
        this.#options.tell({ event: "hangup", cause: reason })
      },
      sendDtmf: (digits) => {
        if (this.#state === "with us") this.#options.tell({ event: "dtmf", digits })
      },
      transferBlind: (target) => this.#transferTo(target)
    }
  }

  #transferTo(target: string): void {
    if (this.#state !== "with us" || this.#transfer !== undefined) return
    this.#transfer = this.#options.transfer(
      { callId: this.#options.callId, target },
      {
        ringing: () => this.#emit({ _tag: "TransferProgress", state: "ringing" }),
        failed: (state, reason) => {
          this.#transfer = undefined
          this.#emit({ _tag: "TransferProgress", state, reason })
        },
        completed: () => {
          this.#audio.stop()
          this.#ear.cut()
          this.#options.tell({ event: "transferred", destination: target })
          this.#emit({ _tag: "TransferProgress", state: "completed" })
          if (this.#state === "with us") this.#state = "transferred"
        },
        heard: (text) => this.#options.tell({ event: "heard", text, final: true }),
        over: () => {
          if (this.#leave({ _tag: "Ended", cause: "hangup" })) {
            this.#options.tell({ event: "hangup", cause: "the transferred call is over" })
          }
        }
      }
    )
  }

  #play(frame: Uint8Array): void {
    if (this.#state !== "with us") return
    for (let offset = 0; offset + frameLength <= frame.length; offset += frameLength) {
      mulawToPcm(frame, offset, frameLength, pcm, 0)
      this.#ear.push(pcm)
    }
    this.#options.tellMedia?.(frame)
  }

  #emit(event: CallEvent): void {
    if (this.#state === "with us") this.#deliver(event)
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

  /** Ends the call from the phone's side. False when it is over already. */
  #leave(event: CallEvent): boolean {
    if (this.#state === "over") return false
    this.#finish()
    this.#deliver(event)
    return true
  }

  #finish(): void {
    this.#audio.stop()
    this.#ear.cut()
    this.#state = "over"
    this.#transfer?.end()
    this.#options.over()
  }
}
