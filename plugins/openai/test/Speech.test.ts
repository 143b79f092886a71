import { describe, expect, it } from "@effect/vitest"
import { Embedding } from "@svc/providers/Embedding"
import { type SpeechEvent, SpeechToText } from "@svc/providers/SpeechToText"
import { speakText } from "@svc/providers/SpeechTurn"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Context, Effect, Layer } from "effect"
import { answerError, answerJson, type Behaviour, chatWith, emulatedServer } from "./EmulatedServer.ts"
import { formIn, heardIn, speaks, vectors } from "./EmulatedSpeech.ts"
import { apiKey, provided } from "./Provided.ts"

const setUp = (behaviour: Behaviour, settings: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(chatWith(behaviour))
    return {
      server,
      capabilities: yield* provided({ baseUrl: server.url, apiKey, ...settings }, yield* makeHostDouble())
    }
  })
const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

describe("speech-to-text", () => {
  const transcript = (behaviour: Behaviour, model: string) =>
    Effect.gen(function* () {
      const { capabilities, server } = yield* setUp(behaviour, { sttModel: model })
      const context = yield* Layer.build(capabilities.speechToText ?? Layer.die("none"))
      const { open } = yield* Effect.provide(SpeechToText, context)
      const events: Array<SpeechEvent> = []
      const session = yield* open({
        callId: "call_1",
        language: "nb-NO",
        sampleRate: 16_000,
        format: "smart",
        keyterms: ["Svc", "Zoë"],
        onEvent: (event) => void events.push(event)
      })
      session.voiceActivity?.(true)
      session.push(new Int16Array(3200).fill(5))
      session.voiceActivity?.(false)
      yield* session.finish
      return { events, forms: server.received.filter(({ method }) => method === "POST").map(formIn) }
    })

  it.live("uploads a WAV file with language and keyterms, and takes the confidence from the segments", () =>
    Effect.gen(function* () {
      const { events, forms } = yield* transcript(
        (_, response) =>
          void answerJson(response, { text: " Hei. ", segments: [{ avg_logprob: Math.log(0.8), no_speech_prob: 0 }] }),
        "whisper-1"
      )
      expect(events).toMatchObject([{ _tag: "Final", text: "Hei." }])
      expect(events[0]).toHaveProperty("confidence", expect.closeTo(0.8))
      expect(forms.map(({ fields }) => fields)).toEqual([
        { model: "whisper-1", language: "no", prompt: "Svc, Zoë", response_format: "verbose_json" }
      ])
      expect(forms[0]?.file.length).toBe(44 + 2 * 3200)
    }).pipe(Effect.scoped)
  )

  it.live("asks for plain JSON where the server has no other, and says nothing where it heard no speech", () =>
    Effect.gen(function* () {
      const plain: Behaviour = (received, response) =>
        void (formIn(received).fields["response_format"] === "json"
          ? answerJson(response, { text: "Hei" })
          : answerError(response, 400, "response_format 'verbose_json' is not compatible with this model"))
      const heard = yield* transcript(plain, "other")
      expect(heard.events).toEqual([{ _tag: "Final", text: "Hei", confidence: 1 }])
      expect((yield* transcript(plain, "gpt-4o-mini-transcribe")).forms).toHaveLength(1)
      const silence = yield* transcript(
        (_, response) =>
          void answerJson(response, { text: "Thank you.", segments: [{ avg_logprob: -1.4, no_speech_prob: 0.9 }] }),
        "whisper-1"
      )
      expect(silence.events).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("fails the session when the server refuses or answers something else", () =>
    Effect.gen(function* () {
      for (const behaviour of [
        (_, response) => void answerError(response, 500, "no"),
        (_, response) => void answerJson(response, { words: [] })
      ] satisfies ReadonlyArray<Behaviour>) {
        const { events } = yield* transcript(behaviour, "whisper-1")
        expect(events).toMatchObject([{ _tag: "Failed", error: { _tag: "SpeechToTextError", retryable: true } }])
      }
    }).pipe(Effect.scoped)
  )
})

describe("text-to-speech", () => {
  const speech = (
    behaviour: Behaviour,
    text: string,
    more: { readonly voice?: string; readonly speed?: number } = {}
  ) =>
    Effect.gen(function* () {
      const { capabilities, server } = yield* setUp(behaviour, { ttsModel: "gpt-4o-mini-tts" })
      const context = yield* Layer.build(capabilities.textToSpeech ?? Layer.die("none"))
      const provider = yield* Effect.provide(TextToSpeech, context)
      const chunks: Array<Int16Array> = []
      const aligned: Array<number> = []
      const turn = speakText(provider, {
        callId: "call_1",
        turn: "1",
        voice: more.voice ?? "Sarah",
        language: "de-DE",
        sampleRate: 24_000,
        speed: more.speed ?? 1,
        text,
        sink: {
          write: (samples) => chunks.push(samples) > 0,
          align: (characters) => void aligned.push(characters),
          drained: Effect.void
        }
      })
      return { turn, chunks, aligned, server }
    })

  it.live("asks for PCM with voice and speed, in requests of at most 4,000 characters", () =>
    Effect.gen(function* () {
      const text = "word ".repeat(1000)
      const { aligned, chunks, server, turn } = yield* speech(
        (received, response) => {
          const short = { ...received, json: { ...received.json, input: String(received.json["input"]).slice(0, 5) } }
          speaks(short, response)
        },
        text,
        { voice: "Nova", speed: 1.5 }
      )
      yield* turn
      const asked = server.received.filter(({ path }) => path === "/v1/audio/speech").map(({ json }) => json)
      expect(asked.map(({ input }) => String(input)).join("")).toBe(text)
      expect(asked.map(({ input }) => String(input).length)).toEqual([4000, 1000])
      expect(asked[0]).toMatchObject({ model: "gpt-4o-mini-tts", voice: "nova", speed: 1.5, response_format: "pcm" })
      expect(heardIn(Int16Array.from(chunks.flatMap((chunk) => [...chunk])))).toBe("word word ")
      expect(aligned).toEqual([4000, 5000])
    }).pipe(Effect.scoped)
  )

  it.live("closes the request when the turn is cancelled", () =>
    Effect.gen(function* () {
      const { chunks, server, turn } = yield* speech((_, response) => {
        response.writeHead(200, { "content-type": "audio/pcm" }).write(Buffer.alloc(960))
      }, "Hello")
      const fiber = yield* Effect.fork(turn)
      yield* until(() => chunks.length > 0)
      yield* fiber.interruptAsFork(fiber.id())
      yield* until(() => server.open() === 0)
      expect(server.brokenOff).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("refuses other voices, WAV files and half samples", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, string, Buffer]> = [
        ["nobody", 'there is no voice "nobody"', Buffer.alloc(0)],
        ["nova", "is a WAV file", Buffer.from("RIFF....WAVE")],
        ["nova", "ended in the middle of a sample", Buffer.alloc(3)]
      ]
      for (const [voice, reason, bytes] of cases) {
        const { turn } = yield* speech((_, response) => void response.writeHead(200).end(bytes), "Hello", { voice })
        const error = yield* Effect.flip(turn)
        expect(error._tag).toBe("TextToSpeechError")
        expect(error.reason).toContain(reason)
      }
    }).pipe(Effect.scoped)
  )
})

describe("embeddings", () => {
  const provider = (behaviour: Behaviour, embeddingModel: string) =>
    Effect.gen(function* () {
      const { capabilities, server } = yield* setUp(behaviour, { embeddingModel })
      return {
        server,
        built: Effect.map(Layer.build(capabilities.embedding ?? Layer.die("none")), Context.get(Embedding))
      }
    })

  it.live("have the dimensions of known models without a request, and of others by one", () =>
    Effect.gen(function* () {
      const known = yield* provider(vectors, "text-embedding-3-large")
      const large = yield* known.built
      expect([large.model, large.dimensions]).toEqual(["openai/text-embedding-3-large", 3072])
      expect(known.server.received.filter(({ method }) => method === "POST")).toEqual([])
      expect((yield* Effect.flip(large.embed(["a"], "query"))).reason).toContain("3072 dimensions")
      const local = yield* (yield* provider(vectors, "local")).built
      expect(local.dimensions).toBe(64)
    }).pipe(Effect.scoped)
  )

  it.live("stop the start with the setting's name when the dimensions cannot be known", () =>
    Effect.gen(function* () {
      const { built, server } = yield* provider(
        (_, response) => void answerError(response, 404, "no such model"),
        "local"
      )
      const error = yield* Effect.flip(built)
      expect(error.reason).toBe(
        `the dimensions of SVC_OPENAI_EMBEDDING_MODEL "local" are not known: ${server.url} answered 404: no such model`
      )
    }).pipe(Effect.scoped)
  )
})
