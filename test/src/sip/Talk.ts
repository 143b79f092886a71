import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { mulawFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { mulawSilence, mulawToPcm } from "@svc/providers/G711"
import { Effect, Schedule, type Scope } from "effect"
import { Inbox } from "../blackbox/Inbox.ts"
import { everyFrame } from "../media/EveryFrame.ts"
import type { RtpPhone } from "./RtpPhone.ts"

const frameSamples = 160
const silence = new Uint8Array(frameSamples).fill(mulawSilence)

/** A frame that went or came, and when, in monotonic ms. */
export interface TimedFrame {
  readonly at: number
  readonly pcm: Int16Array
}

/** The frames of tone speech. */
export const toneFrames = (text: string): ReadonlyArray<Uint8Array> => {
  const encoder = new ToneEncoder(text)
  return Array.from({ length: encoder.frames }, () => mulawFrame(encoder.next()))
}

const pcmOf = (mulaw: Uint8Array): Int16Array => {
  const pcm = new Int16Array(mulaw.length)
  mulawToPcm(mulaw, 0, mulaw.length, pcm, 0)
  return pcm
}

/** A person at a phone: sends audio every 20 ms, silence too, and decodes the tone speech that comes. */
export class Talk {
  readonly #rtp: RtpPhone
  readonly #frames: Array<Uint8Array> = []
  /** Whole utterances that were heard. */
  readonly heard: Inbox<string>
  /** Speech that was sent, and all that was received, one after the other. */
  readonly spoken: Array<TimedFrame> = []
  readonly received: Array<TimedFrame> = []
  isSilent = false

  constructor(rtp: RtpPhone, name: string) {
    this.#rtp = rtp
    this.heard = new Inbox(name)
    const decoder = new ToneDecoder({
      started: () => {},
      progressed: () => {},
      ended: (text, outcome) => this.heard.push(outcome === "ok" ? text : `${text} (${outcome})`)
    })
    rtp.onPacket = ({ at, payload, payloadType }) => {
      if (payloadType !== 0 || payload.length === 0) return
      const pcm = pcmOf(payload)
      this.received.push({ at, pcm })
      for (let from = 0; from + frameSamples <= pcm.length; from += frameSamples) decoder.push(pcm, from)
    }
  }

  say(text: string): void {
    this.play(toneFrames(text))
  }

  /** Sends mu-law frames of 20 ms. */
  play(frames: ReadonlyArray<Uint8Array>): void {
    this.#frames.push(...frames)
  }

  hears(text: string): Effect.Effect<string> {
    return this.heard.next(`to hear ${text}`, (said) => said === text)
  }

  tick(): void {
    const frame = this.#rtp.isPressing ? undefined : this.#frames.shift()
    if (frame !== undefined) this.spoken.push({ at: performance.now(), pcm: pcmOf(frame) })
    this.#rtp.tick(frame ?? (this.isSilent ? undefined : silence))
  }
}

/** Lets a person talk and hear until the end of the scope. */
export const talkOn = (rtp: RtpPhone, name = "the phone"): Effect.Effect<Talk, never, Scope.Scope> =>
  Effect.gen(function* () {
    const talk = new Talk(rtp, name)
    yield* Effect.forkScoped(everyFrame(() => talk.tick()))
    yield* Effect.sync(() => rtp.flush(performance.now())).pipe(
      Effect.repeat(Schedule.fixed("5 millis")),
      Effect.forkScoped
    )
    return talk
  })
