import { randomBytes } from "node:crypto"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { mulawFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"

/** A text that a caller says, as the bytes that are sent. */
export interface Phrase {
  readonly text: string
  /** One WebSocket frame for each 20 ms of audio. */
  readonly frames: ReadonlyArray<Buffer>
  /** The same in mu-law. */
  readonly audio: ReadonlyArray<Uint8Array>
  /** The frame that completes the text for speech-to-text: the first of the last symbol. */
  readonly understood: number
  readonly asksTool: boolean
}

/** A masked client message (RFC 6455), prepared once and sent often, so that the bench costs little CPU. */
const onWire = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const mask = randomBytes(4)
  const header = Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([header, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))])
}

const media = (frame: Uint8Array): Buffer =>
  onWire(JSON.stringify({ event: "media", payload: Buffer.from(frame).toString("base64") }))

/** 20 ms of silence. */
export const silence: Buffer = media(new Uint8Array(160).fill(0xff))

const speak = (text: string): Phrase => {
  const encoder = new ToneEncoder(text)
  const audio = Array.from({ length: encoder.frames }, () => mulawFrame(encoder.next()))
  const frames = audio.map(media)
  return { text, frames, audio, understood: frames.length - 3, asksTool: text.startsWith("look up") }
}

export const phrases: ReadonlyArray<Phrase> = [
  "good morning to you",
  "I have a question",
  "what are your hours",
  "and on a Sunday",
  "thank you so much"
].map(speak)

/** The same, with one that makes the agent use a tool. */
export const phrasesWithTool: ReadonlyArray<Phrase> = phrases.map((phrase, index) =>
  index === 1 ? speak("look up apples") : phrase
)

/** Frames of an utterance of the agent. */
export const framesOf = (text: string): number => new ToneEncoder(text).frames
