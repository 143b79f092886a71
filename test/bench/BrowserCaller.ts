import { randomBytes } from "node:crypto"
import { SoundGate } from "@svc/plugin-browser/page/SoundGate.js"
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
/** Frames without audio after which the page shows that it is there. */
const pingEvery = 25
/** Frames after which the page sends nothing more of the silence after a phrase. */
const silentFrames = 50

/** A masked binary message (RFC 6455), prepared once. */
const onWire = (samples: Int16Array): Buffer => {
  const payload = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
  const mask = randomBytes(4)
  const header = Buffer.from([0x82, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([header, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))])
}

const sizeOf = (data: WebSocket.RawData): number =>
  Array.isArray(data) ? data.reduce((total, part) => total + part.length, 0) : data.byteLength

/** What is sent in each 20 ms, if anything. */
type Messages = ReadonlyArray<Buffer | undefined>

const silences = (count: number): ReadonlyArray<Int16Array> => Array.from({ length: count }, () => new Int16Array(320))

const silence = onWire(new Int16Array(320))

/** The beginning of a call as a page sends it. */
const opening: Messages = (() => {
  const gate = new SoundGate()
  return silences(silentFrames).map((frame) => (gate.push(frame) === undefined ? undefined : silence))
})()

const spoken = new Map<string, Messages>()

/** A phrase in a silent room as a page sends it, with what follows: PCM16 at 16 kHz. */
const messagesOf = (text: string): Messages => {
  const known = spoken.get(text)
  if (known !== undefined) return known
  const encoder = new ToneEncoder(text)
  const frames = Array.from({ length: encoder.frames }, () => {
    const samples = new Int16Array(320)
    renderFrame(encoder.next(), 16_000, samples, 0)
    return samples
  })
  const gate = new SoundGate()
  for (const frame of silences(silentFrames)) gate.push(frame)
  const messages = [...frames, ...silences(silentFrames)].map((frame) => {
    const audio = gate.push(frame)
    return audio === undefined ? undefined : onWire(audio)
  })
  spoken.set(text, messages)
  return messages
}

/**
 * One caller on the page of a call link: sends of the microphone what the page does, plays what comes at once and
 * confirms its marks, and talks in turns with the agent.
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
  private messages: Messages = opening
  private next = 0
  /** Frames since something was sent. */
  private quiet = 0
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
    if (this.socket.readyState !== WebSocket.OPEN) return
    if (this.up) {
      this.frames++
      this.talk()
    }
    const message = this.up ? this.message() : undefined
    this.quiet = message === undefined ? this.quiet + 1 : 0
    if (message !== undefined) this.wire?.write(message)
    else if (this.quiet % pingEvery === 0) this.socket.send('{"event":"ping"}')
  }

  private message(): Buffer | undefined {
    return this.messages[this.next++] ?? (this.options.continuous ? silence : undefined)
  }

  /** Goes on with the conversation by one frame. */
  private talk(): void {
    if (this.state === "pausing" && this.frames > 15 + ((this.options.index * 7) % 20)) this.enter("speaking")
    if (this.state === "listening" && this.frames > longestWait) this.drop()
    if (this.state !== "speaking") return
    const { phrase } = this
    if (this.frames === phrase?.understood) this.askedAt = phrase.asksTool ? 0 : performance.now()
    if (this.frames < (phrase?.frames.length ?? 0)) return
    this.said++
    this.enter("listening")
  }

  private get phrase(): Phrase | undefined {
    return this.phrases[this.said % this.phrases.length]
  }

  private enter(state: "listening" | "pausing" | "speaking"): void {
    this.state = state
    this.frames = 0
    if (state !== "speaking") return
    this.utterance.finish(this.options.figures)
    this.messages = messagesOf(this.phrase?.text ?? "")
    this.next = 0
  }

  private receive(data: WebSocket.RawData, isBinary: boolean): void {
    if (isBinary) {
      this.count()
      const now = performance.now()
      if (!this.utterance.begun && this.askedAt > 0) {
        this.options.figures.answer.add(now - this.askedAt)
        this.askedAt = 0
      }
      for (let bytes = sizeOf(data); bytes > 0; bytes -= 640) this.utterance.frame(now)
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
