import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { speechToTextSuite } from "@svc/providers/testing/SpeechToTextSuite"
import { Effect, Layer, Redacted } from "effect"
import { layer } from "../src/Hearing.js"

/** Speech that a test can read: each character is 20 ms of samples that have its code as their value. */
const speak = (text: string, sampleRate: number) =>
  [...text].map((character) => new Int16Array(sampleRate / 50).fill(1000 + character.charCodeAt(0)))

/** What such samples say. There is silence around them. */
const heard = (body: Buffer, sampleRate: number): string => {
  let text = ""
  const frame = (sampleRate / 50) * 2
  for (let at = 0; at + frame <= body.length; at += frame) {
    const sample = body.readInt16LE(at)
    if (sample !== 0) text += String.fromCharCode(sample - 1000)
  }
  return text
}

/** The plugin with a vendor of its own, which closes with the layer. */
const against = (answer: (body: Buffer, rate: number, response: ServerResponse) => void) =>
  Layer.unwrapScoped(
    Effect.acquireRelease(
      Effect.async<Server>((resume) => {
        const server = createServer((request: IncomingMessage, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const rate = Number(new URL(request.url ?? "/", "http://vendor").searchParams.get("rate"))
            answer(Buffer.concat(chunks), rate, response)
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close().closeAllConnections())
    ).pipe(
      Effect.map((server) => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        return layer({ url: `http://127.0.0.1:${port}/`, apiKey: Redacted.make("secret") })
      })
    )
  )

speechToTextSuite({
  name: "the hearing plugin",
  layer: against((body, rate, response) => response.end(JSON.stringify({ text: heard(body, rate) }))),
  speak: (text, sampleRate) => Effect.sync(() => speak(text, sampleRate)),
  phrases: ["hello world", "good bye"],
  pauseFrames: 30,
  sessions: 200,
  faults: {
    hangs: against(() => {}),
    closesEarly: against((_body, _rate, response) => response.destroy()),
    sendsGarbage: against((_body, _rate, response) => response.end("<html>"))
  }
})
