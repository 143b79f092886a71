import { createHash } from "node:crypto"
import { answerError, answerJson, type Behaviour, type Received } from "./EmulatedServer.ts"

/** Samples that carry a text in their values, from `base` upwards: a voice that a test can read. */
const base = 1000
const samplesPerCharacter = 1200

const spokenBy = (text: string, length: number): Int16Array => {
  const samples = new Int16Array(text.length * length)
  for (let i = 0; i < samples.length; i++) samples[i] = base + text.charCodeAt(Math.floor(i / length))
  return samples
}

/** What samples of {@link spokenBy} say, however loud the silence around them is. */
const textIn = (samples: Int16Array, length: number): string => {
  const values = [...samples].filter((sample) => sample > base)
  return values
    .filter((_, n) => n % length === length >> 1)
    .map((value) => String.fromCharCode(value - base))
    .join("")
}

/** What the audio of {@link speaks} says. */
export const heardIn = (samples: Int16Array): string => textIn(samples, samplesPerCharacter)

/** Frames of 20 ms, one for each character. */
export const tones = (text: string, sampleRate: number): ReadonlyArray<Int16Array> =>
  [...text].map((character) => spokenBy(character, sampleRate / 50))

/** The fields of a form, and its file. */
export const formIn = ({
  body,
  headers
}: Received): { readonly fields: Readonly<Record<string, string>>; readonly file: Buffer } => {
  const boundary = /boundary=(.+)$/.exec(headers["content-type"] ?? "")?.[1] ?? "none"
  const parts = body.toString("latin1").split(`--${boundary}`).slice(1, -1)
  const fields: Record<string, string> = {}
  let file = Buffer.alloc(0)
  for (const part of parts) {
    const [head = "", ...rest] = part.split("\r\n\r\n")
    const content = Buffer.from(rest.join("\r\n\r\n").slice(0, -2), "latin1")
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? ""
    if (head.includes("filename=")) file = content
    else fields[name] = content.toString("utf8")
  }
  return { fields, file }
}

/** Transcribes WAV files of 16 kHz as Whisper answers. */
export const transcribes: Behaviour = (received, response) => {
  if (received.path !== "/v1/audio/transcriptions") return void answerError(response, 404, `no ${received.path}`)
  const { fields, file } = formIn(received)
  if (file.toString("latin1", 0, 4) !== "RIFF" || file.readUInt32LE(24) !== 16_000 || fields["model"] !== "whisper-1") {
    return void answerError(response, 400, "no WAV file of 16 kHz")
  }
  const samples = new Int16Array((file.length - 44) >> 1)
  for (let i = 0; i < samples.length; i++) samples[i] = file.readInt16LE(44 + 2 * i)
  const text = textIn(samples, 320)
  setTimeout(
    () =>
      answerJson(response, {
        task: "transcribe",
        language: "english",
        duration: samples.length / 16_000,
        text: ` ${text}`,
        segments: [{ id: 0, text, avg_logprob: -0.2, no_speech_prob: 0.01 }]
      }),
    5
  )
}

/** Speaks a text in pieces of odd lengths, as fast as the client reads. */
export const speaks: Behaviour = ({ json, path }, response) => {
  if (path !== "/v1/audio/speech" || json["response_format"] !== "pcm")
    return void answerError(response, 404, `no ${path}`)
  const samples = spokenBy(String(json["input"]), samplesPerCharacter)
  const bytes = Buffer.from(samples.buffer)
  response.writeHead(200, { "content-type": "audio/pcm", "transfer-encoding": "chunked" })
  const write = (from: number): void => {
    if (response.destroyed) return
    if (from >= bytes.length) {
      response.end()
      return
    }
    const next = () => setTimeout(() => write(from + 9601), 1)
    if (response.write(bytes.subarray(from, from + 9601))) next()
    else response.once("drain", next)
  }
  write(0)
}

const dimensions = 64

/** Vectors of which those of texts with the same words are near each other. */
export const vectors: Behaviour = ({ json, path }, response) => {
  if (path !== "/v1/embeddings") return void answerError(response, 404, `no ${path}`)
  const input = Array.isArray(json["input"]) ? json["input"].map(String) : []
  const data = input.map((text, index) => {
    const embedding = new Array<number>(dimensions).fill(0.001)
    for (const word of text.split(/\s+/)) {
      const place = createHash("sha256").update(word).digest()[0] ?? 0
      embedding[place % dimensions] = (embedding[place % dimensions] ?? 0) + 1
    }
    return { object: "embedding", index, embedding }
  })
  // The order of the list means nothing: the index says it.
  answerJson(response, {
    object: "list",
    data: data.reverse(),
    model: "local",
    usage: { prompt_tokens: 1, total_tokens: 1 }
  })
}
