import type { ServerMessage, Verdict } from "@svc/providers/SimulatedNetwork"
import type { CallEvent, CallLeg, PlaybackMarks } from "@svc/providers/Telephony"
import type { Law } from "../Law.ts"
import type { LegRealism } from "../Realism/Realism.ts"
import type { Seeded } from "../Realism/Seeded.ts"
import { ToneDecoder } from "../ToneSpeech/ToneDecoder.ts"
import { CallerAudio } from "./CallerAudio.ts"
import { HeardText } from "./HeardText.ts"
import { type Impairments, LineImpairments } from "./LineImpairments.ts"
import type { MediaClock } from "./NetworkClock.ts"
import { PlayoutBuffer } from "./PlayoutBuffer.ts"
import type { OngoingTransfer, StartTransfer } from "./Transfers.ts"

const frameLength = 160
const pcm = new Int16Array(frameLength)

/** The maximum number of events that are kept until a listener is installed: 10 s of audio. */
const maxBacklog = 500

/** The realism of the legs of calls, by the engine's id of the call. It may change while a call runs. */
export interface LegRealismOf {
  readonly of: (callId: string) => LegRealism | undefined
  readonly random: (callId: string) => Seeded
}

/** An answered call and its connections to the phone and the network. */
export interface PhoneLegOptions {
  /** The engine's id of the call. */
  readonly callId: string
  /** The law of the audio in both directions. */
  readonly law: Law
  readonly realism: LegRealismOf
  readonly impairments: Impairments
  /** Makes the impairments repeatable. */
  readonly seed: number
  readonly clock: MediaClock
  /** Sends to the phone. */
  readonly send: (message: ServerMessage) => void
  /** Sends the agent's audio to the phone; absent when the phone did not request it. */
  readonly sendMedia?: ((frame: Uint8Array) => void) | undefined
  readonly transfer: StartTransfer
  /** Called once when the call has ended. */
  readonly onEnded: () => void
}

/**
 * An answered call between a phone of the simulated network and the engine, inbound or outbound. After a transfer the
 * phone is connected to the destination, and the engine receives only the end of the call.
 *
 * | state       | event                 | next        | phone receives  | engine receives            |
 * |-------------|-----------------------|-------------|-----------------|----------------------------|
 * | connected   | the phone hangs up    | over        |                 | Ended hangup               |
 * | connected   | the engine hangs up   | over        | hangup          |                            |
 * | connected   | a transfer fails      | connected   |                 | TransferProgress           |
 * | connected   | a transfer completes  | transferred | transferred     | TransferProgress completed |
 * | transferred | either party hangs up | over        | hangup          | Ended hangup               |
 * | any         | the connection breaks | over        | hangup          | Ended failed               |
 */
export class PhoneLeg {
  readonly answered = true
  readonly #options: PhoneLegOptions
  readonly #audio: CallerAudio
  readonly #buffer: PlayoutBuffer
  readonly #decoder: ToneDecoder
  readonly #heard: HeardText
  #state: "connected" | "transferred" | "over" = "connected"
  #transfer: OngoingTransfer | undefined
  #listener: ((event: CallEvent) => void) | undefined
  #backlog: Array<CallEvent> = []

  constructor(options: PhoneLegOptions) {
    const { callId, clock, law, realism } = options
    this.#options = options
    this.#audio = new CallerAudio(
      clock,
      new LineImpairments(options.impairments, options.seed, law),
      (payload, packet) => this.#emit({ _tag: "Audio", payload, ...packet }),
      { law, realism: () => realism.of(callId), random: realism.random(callId) }
    )
    this.#buffer = new PlayoutBuffer(clock, {
      play: (frame) => this.#play(frame),
      confirm: (name, outcome) => this.#emit({ _tag: "Mark", name, outcome })
    })
    this.#heard = new HeardText(clock, options.send)
    this.#decoder = new ToneDecoder({
      started: () => {},
      progressed: (text) => this.#heard.report(text, false),
      ended: (text) => {
        if (text !== "") this.#heard.report(text, true)
      }
    })
  }

  /** Speaks a text as the phone. False when the queue is full. */
  say(text: string): boolean {
    if (this.#state !== "transferred") return this.#audio.say(text)
    this.#transfer?.say(text)
    return true
  }

  /** Queues a beep. */
  beep(): void {
    this.#audio.beep()
  }

  /** Takes the phone's own audio. */
  media(bytes: Uint8Array): void {
    if (this.#state === "connected") this.#audio.media(bytes)
  }

  dtmf(digits: string): void {
    for (const digit of digits) this.#emit({ _tag: "Dtmf", digit, source: "signaling" })
  }

  /** The network has detected who answered. */
  reportAnswerer(verdict: Verdict): void {
    this.#emit({ _tag: "Answerer", verdict })
  }

  /** The phone hung up. */
  hangup(): void {
    this.#leave({ _tag: "Ended", cause: "hangup" })
  }

  /** Ends the call as failed and sends `hangup` to the phone if it is connected. */
  fail(reason: string): void {
    if (this.#leave({ _tag: "Ended", cause: "failed", reason })) {
      this.#options.send({ event: "hangup", cause: reason })
    }
  }

  get leg(): CallLeg {
    const marks = () => this.#marks
    return {
      format: this.#options.law.format,
      get marks() {
        return marks()
      },
      listen: (listener) => {
        this.#listener = listener
        for (const event of this.#backlog.splice(0)) listener(event)
      },
      send: (frame) => {
        if (this.#marks === "echoed") this.#buffer.put(frame)
        else this.#play(frame)
      },
      mark: (name) => {
        if (this.#marks === "echoed") this.#buffer.mark(name)
        // Audio is played when it is sent, so a mark is confirmed at once.
        else if (this.#marks === "exact") this.#emit({ _tag: "Mark", name, outcome: "played" })
      },
      clear: () => {
        if (this.#state !== "connected") return
        this.#buffer.clear()
        this.#cut()
        this.#options.send({ event: "clear" })
      },
      hangup: (reason) => {
        if (this.#state === "over") return
        this.#finish()
        this.#options.send({ event: "hangup", cause: reason })
      },
      sendDtmf: (digits) => {
        if (this.#state !== "connected") return
        // In the order in which they were sent.
        this.#heard.flush()
        this.#options.send({ event: "dtmf", digits })
      },
      transferBlind: (target) => this.#transferTo(target)
    }
  }

  get #marks(): PlaybackMarks {
    return this.#options.realism.of(this.#options.callId)?.marks ?? "exact"
  }

  #transferTo(target: string): void {
    if (this.#state !== "connected" || this.#transfer !== undefined) return
    if (this.#options.realism.of(this.#options.callId)?.transfer === "refused") {
      const reason = "the network does not transfer this call"
      this.#emit({ _tag: "TransferProgress", state: "failed", reason, refused: true })
      return
    }
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
          this.#buffer.stop()
          this.#cut()
          this.#options.send({ event: "transferred", destination: target })
          this.#emit({ _tag: "TransferProgress", state: "completed" })
          if (this.#state === "connected") this.#state = "transferred"
        },
        heard: (text) => this.#options.send({ event: "heard", text, final: true }),
        ended: () => {
          if (this.#leave({ _tag: "Ended", cause: "hangup" })) {
            this.#options.send({ event: "hangup", cause: "the transferred call is over" })
          }
        }
      }
    )
  }

  #play(frame: Uint8Array): void {
    if (this.#state !== "connected") return
    for (let offset = 0; offset + frameLength <= frame.length; offset += frameLength) {
      this.#heard.frame()
      this.#options.law.decode(frame, offset, frameLength, pcm, 0)
      this.#decoder.push(pcm)
      this.#audio.played(frame, offset)
    }
    this.#options.sendMedia?.(frame)
  }

  /** The phone plays no more of what was sent. */
  #cut(): void {
    this.#heard.flush()
    this.#decoder.cut()
    this.#heard.cut()
  }

  #emit(event: CallEvent): void {
    if (this.#state === "connected") this.#deliver(event)
  }

  #deliver(event: CallEvent): void {
    if (this.#listener !== undefined) {
      this.#listener(event)
      return
    }
    if (this.#backlog.length === maxBacklog) this.#backlog.shift()
    // The payload is valid only during the call.
    this.#backlog.push(event._tag === "Audio" ? { ...event, payload: event.payload.slice() } : event)
  }

  /** Ends the call from the phone's side. False when it is already over. */
  #leave(event: CallEvent): boolean {
    if (this.#state === "over") return false
    this.#finish()
    this.#deliver(event)
    return true
  }

  #finish(): void {
    this.#audio.stop()
    this.#buffer.stop()
    this.#cut()
    this.#state = "over"
    this.#transfer?.end()
    this.#options.onEnded()
  }
}
