import type { Capabilities, PluginError } from "@svc/providers/Plugin"
import { embeddingSuite } from "@svc/providers/testing/EmbeddingSuite"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { speechToTextSuite } from "@svc/providers/testing/SpeechToTextSuite"
import { textToSpeechSuite } from "@svc/providers/testing/TextToSpeechSuite"
import { Effect, Layer } from "effect"
import { answerError, answerJson, type Behaviour, chatWith, emulatedServer } from "./EmulatedServer.ts"
import { heardIn, speaks, tones, transcribes, vectors } from "./EmulatedSpeech.ts"
import { apiKey, provided } from "./Provided.ts"

const settings = { apiKey, model: "small", sttModel: "whisper-1", ttsModel: "gpt-4o-mini-tts", embeddingModel: "local" }

/** A capability of the plugin at a server of its own. */
const at = <I>(pick: (capabilities: Capabilities) => Layer.Layer<I, PluginError> | undefined, behaviour: Behaviour) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const { url } = yield* emulatedServer(chatWith(behaviour))
      const capabilities = yield* provided({ ...settings, baseUrl: url }, yield* makeHostDouble())
      return pick(capabilities) ?? Layer.die("it does not provide the capability")
    })
  )
const speechToText = (behaviour: Behaviour) => at((all) => all.speechToText, behaviour)
const textToSpeech = (behaviour: Behaviour) => at((all) => all.textToSpeech, behaviour)
const embedding = (behaviour: Behaviour) => at((all) => all.embedding, behaviour)

const refuses: Behaviour = (_, response) => void answerError(response, 500, "no")
const hangs: Behaviour = () => {}
const garbage: Behaviour = (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>")
/** Begins an answer and closes the connection. */
const breaksOff: Behaviour = (_, response) => {
  response.writeHead(200, { "content-type": "application/octet-stream", "transfer-encoding": "chunked" })
  response.write(Buffer.alloc(2000))
  setTimeout(() => response.destroy(), 5)
}

speechToTextSuite({
  name: "transcriptions of an OpenAI-compatible server",
  layer: speechToText(transcribes),
  speak: (text, sampleRate) => Effect.sync(() => tones(text, sampleRate)),
  phrases: ["hello world", "good bye"],
  pauseFrames: 30,
  sessions: 200,
  faults: {
    hangs: speechToText(hangs),
    closesEarly: speechToText(breaksOff),
    sendsGarbage: speechToText(garbage)
  }
})

textToSpeechSuite({
  name: "speech of an OpenAI-compatible server",
  layer: textToSpeech(speaks),
  hear: (samples) => Effect.sync(() => heardIn(samples)),
  sessions: 200,
  faults: {
    refuses: textToSpeech(refuses),
    hangs: textToSpeech(hangs),
    closesEarly: textToSpeech(breaksOff),
    sendsGarbage: textToSpeech(garbage)
  }
})

/** The first request says the dimensions. */
const afterFirst = (behaviour: Behaviour) => {
  let requests = 0
  return embedding((received, response) =>
    requests++ === 0 ? vectors(received, response) : behaviour(received, response)
  )
}

embeddingSuite({
  name: "embeddings of an OpenAI-compatible server",
  layer: embedding(vectors),
  sessions: 200,
  faults: {
    refuses: afterFirst(refuses),
    hangs: afterFirst(hangs),
    closesEarly: afterFirst(breaksOff),
    sendsGarbage: afterFirst((_, response) => void answerJson(response, { data: [{ embedding: ["x"] }] }))
  }
})
