import { WebSocket } from "ws"
import type { Paced } from "./Pacer.ts"
import { type Phrase, phrases, phrasesWithTool, silence } from "./Phrase.ts"
import { type AudioFigures, Utterance } from "./ReceivedAudio.ts"

/** Frames of silence after speech, which voice activity detection needs. */
const trailingFrames = 25
/** Frames without an answer after which a caller gives up: 10 s. */
const longestWait = 500
/** `{"event":"media"` has an m here; no other message of the server does. */
const eventAt = 10
const m = "m".charCodeAt(0)

/** A caller of the bench. */
export interface BenchCaller extends Paced {
  readonly up: boolean
  readonly dropped: boolean
  readonly callId: string | undefined
  readonly hangUp: () => void
}

export interface CallerOptions {
  readonly url: string
  readonly to: string
  readonly index: number
  readonly continuous: boolean
  readonly figures: AudioFigures
  /** The call was answered, or failed: called once. */
  readonly settled: () => void
}

/** One caller: dials, and talks in turns with the agent until it hangs up. */
export class Caller implements BenchCaller {
  private readonly options: CallerOptions
  private readonly socket: WebSocket
  private readonly utterance = new Utterance()
  private readonly phrases: ReadonlyArray<Phrase>
  /** The raw socket for prepared frames. */
  private wire: { write: (bytes: Buffer) => unknown } | undefined
  private state: "dialling" | "listening" | "pausing" | "speaking" | "over" = "dialling"
  /** Frames since the state began. */
  private frames = 0
  private trailing = 0
  private said = 0
  private askedAt = 0
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
    this.socket.on("open", () => {
      const from = `+1555${String(1_000_000 + options.index)}`
      this.socket.send(JSON.stringify({ event: "dial", to: options.to, from, audio: true }))
    })
    this.socket.on("message", (data) => this.receive(data instanceof Buffer ? data : Buffer.alloc(0)))
    this.socket.on("close", () => this.drop())
    this.socket.on("error", () => this.drop())
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
    const frame = this.frame()
    if (frame !== undefined) this.wire?.write(frame)
  }

  /** Sends the frame of this tick. */
  private frame(): Buffer | undefined {
    if (this.state === "pausing" && this.frames > 15 + ((this.options.index * 7) % 20)) this.enter("speaking")
    if (this.state === "listening" && this.frames > longestWait) this.drop()
    if (this.state === "speaking") {
      const frame = this.phrase?.frames[this.frames]
      if (this.frames === this.phrase?.understood) this.askedAt = this.phrase.asksTool ? 0 : performance.now()
      if (frame !== undefined) return frame
      this.said++
      this.trailing = trailingFrames
      this.enter("listening")
    }
    if (!this.options.continuous && this.trailing-- <= 0) return undefined
    return silence
  }

  private enter(state: "listening" | "pausing" | "speaking"): void {
    this.state = state
    this.frames = 0
    if (state === "speaking") this.utterance.finish(this.options.figures)
  }

  private receive(data: Buffer): void {
    if (data[eventAt] === m) this.hear(performance.now())
    else this.read(JSON.parse(data.toString("utf8")))
  }

  private hear(now: number): void {
    if (!this.utterance.begun && this.askedAt > 0) {
      this.options.figures.answer.add(now - this.askedAt)
      this.askedAt = 0
    }
    this.utterance.frame(now)
  }

  private read(message: { readonly event: string; readonly [key: string]: unknown }): void {
    switch (message.event) {
      case "answered":
        this.callId = String(message["call_id"])
        this.enter("listening")
        this.options.settled()
        return
      case "heard":
        if (message["final"] !== true) return
        this.utterance.understood(String(message["text"]))
        if (this.state === "listening") this.enter("pausing")
        return
      case "rejected":
      case "hangup":
      case "error":
        this.drop()
        return
    }
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
    this.socket.close()
  }
}
