import * as dgram from "node:dgram"
import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { mulawSilence, mulawToPcm } from "@svc/providers/G711"
import { type RtpArrival, RtpPhone } from "../src/sip/RtpPhone.ts"
import type { SipCall } from "../src/sip/SipCall.ts"
import type { SipPhone } from "../src/sip/SipPhone.ts"
import type { BenchCaller, CallerOptions } from "./Caller.ts"
import { type Phrase, phrases, phrasesWithTool } from "./Phrase.ts"
import { Utterance } from "./ReceivedAudio.ts"

/** Frames without an answer after which a caller gives up: 10 s. */
const longestWait = 500
/** Between the hang-ups of two callers, so that the server's socket can take them. */
const hangUpMs = 2
/** After this time a phone closes its ports. */
const closeMs = 3000

const frameSamples = 160
const silence = new Uint8Array(frameSamples).fill(mulawSilence)
const pcm = new Int16Array(frameSamples)

/** The packet that keeps a silent line open is no speech. */
const isSilence = (payload: Uint8Array): boolean =>
  [3, 47, 91, 135].every((at) => ((payload[at] ?? mulawSilence) & 0x7f) > 0x70)

/** One caller over SIP: sends a packet every 20 ms, silence too, as trunks do, and talks in turns with the agent. */
export class SipCaller implements BenchCaller {
  private readonly options: CallerOptions
  private readonly rtp: RtpPhone
  private readonly utterance = new Utterance()
  private readonly phrases: ReadonlyArray<Phrase>
  private readonly decoder: ToneDecoder
  private call: SipCall | undefined
  private state: "dialling" | "listening" | "pausing" | "speaking" | "over" = "dialling"
  /** Frames since the state began. */
  private frames = 0
  private said: number
  private askedAt = 0
  /** The platform's id is not known to a phone. */
  readonly callId = undefined
  dropped = false

  constructor(phone: SipPhone, options: CallerOptions) {
    this.options = options
    this.said = options.index
    this.phrases = options.index % 4 === 0 ? phrasesWithTool : phrases
    this.decoder = new ToneDecoder({
      started: () => {},
      progressed: () => {},
      ended: (text, outcome) => {
        if (outcome !== "ok") return
        this.utterance.understood(text)
        if (this.state === "listening") this.enter("pausing")
      }
    })
    const socket = dgram.createSocket("udp4")
    this.rtp = new RtpPhone(socket, 0x5100_0000 + options.index)
    this.rtp.onPacket = (packet) => this.hear(packet)
    socket.bind(0, "127.0.0.1", () => {
      this.call = phone.dial(options.to, `+1555${String(1_000_000 + options.index)}`, this.rtp)
      this.call.onState = (state) => {
        if (state === "answered" && this.state === "dialling") {
          this.enter("listening")
          this.options.settled()
        } else if (state === "rejected" || state === "ended") this.drop()
      }
    })
  }

  get up(): boolean {
    return this.state !== "dialling" && this.state !== "over"
  }

  private get phrase(): Phrase | undefined {
    return this.phrases[this.said % this.phrases.length]
  }

  tick(): void {
    if (!this.up) return
    this.frames++
    this.rtp.tick(this.frame())
  }

  /** The audio of this tick. */
  private frame(): Uint8Array {
    if (this.state === "pausing" && this.frames > 15 + ((this.options.index * 7) % 20)) this.enter("speaking")
    if (this.state === "listening" && this.frames > longestWait) this.drop()
    if (this.state !== "speaking") return silence
    const frame = this.phrase?.audio[this.frames]
    if (this.frames === this.phrase?.understood) this.askedAt = this.phrase.asksTool ? 0 : performance.now()
    if (frame !== undefined) return frame
    this.said++
    this.enter("listening")
    return silence
  }

  private enter(state: "listening" | "pausing" | "speaking"): void {
    this.state = state
    this.frames = 0
    if (state === "speaking") this.utterance.finish(this.options.figures)
  }

  private hear({ at, payload, payloadType }: RtpArrival): void {
    if (payloadType !== 0 || payload.length !== frameSamples || isSilence(payload)) return
    if (!this.utterance.begun && this.askedAt > 0) {
      this.options.figures.answer.add(at - this.askedAt)
      this.askedAt = 0
    }
    this.utterance.frame(at)
    mulawToPcm(payload, 0, frameSamples, pcm, 0)
    this.decoder.push(pcm)
  }

  private drop(): void {
    if (this.state === "over") return
    this.dropped = true
    const dialling = this.state === "dialling"
    this.state = "over"
    this.call?.hangUp()
    setTimeout(() => this.rtp.close(), closeMs)
    if (dialling) this.options.settled()
  }

  hangUp(): void {
    if (this.state === "over") return
    this.state = "over"
    const after = this.options.index * hangUpMs
    setTimeout(() => this.call?.hangUp(), after)
    setTimeout(() => this.rtp.close(), after + closeMs)
  }
}
