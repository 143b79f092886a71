import { randomBytes } from "node:crypto"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { renderFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { WebSocket } from "ws"
import type { BenchCaller, CallerOptions } from "./Caller.ts"
import { type Phrase, phrases, phrasesWithTool } from "./Phrase.ts"
import { Utterance } from "./ReceivedAudio.ts"

/** Frames without an answer after which a caller gives up: 10 s. */
const longestWait = 500
/** Messages after which the server is told that they have come, as the page does. */
const ackEvery = 25

/** A masked binary message (RFC 6455) of one frame, prepared once. */
const onWire = (samples: Int16Array): Buffer => {
  const payload = Buffer.from(samples.buffer)
  const mask = randomBytes(4)
  const header = Buffer.from([0x82, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([header, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))])
}

const silence = onWire(new Int16Array(320))

const spoken = new Map<string, ReadonlyArray<Buffer>>()

/** A phrase as a page sends it: PCM16 at 16 kHz. */
const framesOf = ({ text }: Phrase): ReadonlyArray<Buffer> => {
  const known = spoken.get(text)
  if (known !== undefined) return known
  const encoder = new ToneEncoder(text)
  const frames = Array.from({ length: encoder.frames }, () => {
    const samples = new Int16Array(320)
    renderFrame(encoder.next(), 16_000, samples, 0)
    return onWire(samples)
  })
  spoken.set(text, frames)
  return frames
}

/**
 * One caller on the page of a call link: sends the microphone all the time, plays what comes at once and confirms its
 * marks, and talks in turns with the agent.
 */
export class BrowserCaller implements BenchCaller {
  private readonly options: CallerOptions
  private readonly socket: WebSocket
  private readonly utterance = new Utterance()
  private readonly phrases: ReadonlyArray<Phrase>
  /** The raw socket for prepared frames. */
  private wire: { write: (bytes: Buffer) => unknown } | undefined
  private state: "dialling" | "listening" | "pausing" | "speaking" | "over" = "dialling"
  /** Frames since the state began. */
  private frames = 0
  private said: number
  private askedAt = 0
  private received = 0
  private sent = 0
  callId: string | undefined
  dropped = false

  constructor(options: CallerOptions) {
    this.options = options
    this.said = options.index
    this.phrases = options.index % 4 === 0 ? phrasesWithTool : phrases
    this.socket = new WebSocket(options.url, { perMessageDeflate: false, skipUTF8Validation: true })
    this.socket.on("upgrade", ({ socket }) => {
      this.wire = socket
    })
    this.socket.on("message", (data, isBinary) => this.receive(data, isBinary))
    this.socket.on("close", () => this.drop())
    this.socket.on("error", () => this.drop())
  }

  get up(): boolean {
    return this.state !== "dialling" && this.state !== "over"
  }

  tick(): void {
    if (!this.up) return
    this.frames++
    this.wire?.write(this.frame())
  }

  /** The frame of this tick. */
  private frame(): Buffer {
    if (this.state === "pausing" && this.frames > 15 + ((this.options.index * 7) % 20)) this.enter("speaking")
    if (this.state === "listening" && this.frames > longestWait) this.drop()
    if (this.state !== "speaking") return silence
    const phrase = this.phrases[this.said % this.phrases.length]
    if (this.frames === phrase?.understood) this.askedAt = phrase.asksTool ? 0 : performance.now()
    const frame = phrase === undefined ? undefined : framesOf(phrase)[this.frames]
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

  private receive(data: WebSocket.RawData, isBinary: boolean): void {
    if (isBinary) {
      this.count()
      const now = performance.now()
      if (!this.utterance.begun && this.askedAt > 0) {
        this.options.figures.answer.add(now - this.askedAt)
        this.askedAt = 0
      }
      this.utterance.frame(now)
      return
    }
    const message: { readonly event: string; readonly [field: string]: unknown } = JSON.parse(String(data))
    if (message.event === "ping") return
    this.count()
    switch (message.event) {
      case "ringing":
        this.callId = String(message["call_id"])
        return
      case "answered":
        this.enter("listening")
        this.options.settled()
        return
      case "mark":
        this.socket.send(JSON.stringify({ event: "mark", name: message["name"], n: ++this.sent }))
        return
      case "said":
        if (message["role"] !== "agent") return
        this.utterance.understood(String(message["text"]))
        if (this.state === "listening") this.enter("pausing")
        return
      case "refused":
      case "ended":
        this.drop()
        return
    }
  }

  private count(): void {
    if (++this.received % ackEvery === 0) this.socket.send(JSON.stringify({ event: "ack", received: this.received }))
  }

  private drop(): void {
    if (this.state === "over") return
    this.dropped = true
    const dialling = this.state === "dialling"
    this.state = "over"
    this.socket.terminate()
    if (dialling) this.options.settled()
  }

  hangUp(): void {
    if (this.state === "over") return
    this.state = "over"
    this.socket.close(1001)
  }
}
