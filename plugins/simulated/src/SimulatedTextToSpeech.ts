import { healthy } from "@svc/providers/Health"
import { byText, type TextRequest } from "@svc/providers/SpeechTurn"
import { type AudioSink, TextToSpeech, TextToSpeechError, type Voice } from "@svc/providers/TextToSpeech"
import { Effect, Layer } from "effect"
import { CallRequests } from "./CallRequests.ts"
import { languages } from "./Languages.ts"
import { CallRealism } from "./Realism/CallRealism.ts"
import { faultySpeech } from "./Realism/FaultySpeech.ts"
import { framesPerSymbol } from "./ToneSpeech/ToneCode.ts"
import { ToneEncoder } from "./ToneSpeech/ToneEncoder.ts"
import { renderFrame } from "./ToneSpeech/ToneFrames.ts"

const voices: ReadonlyArray<Voice> = [
  { name: "Sarah", languages: "*", gender: "female" },
  { name: "Tom", languages: ["en-US"], gender: "male" },
  { name: "Oliver", languages: ["en-GB"], gender: "male" },
  { name: "Lucia", languages: ["es-ES"], gender: "female" },
  { name: "Lotte", languages: ["nl-NL"], gender: "female" },
  { name: "Daan", languages: ["nl-NL"], gender: "male" },
  { name: "Jonas", languages: ["de-DE"], gender: "male" },
  { name: "Camille", languages: ["fr-FR"], gender: "female" },
  { name: "Matteo", languages: ["it-IT"], gender: "male" },
  { name: "Ines", languages: ["pt-PT"], gender: "female" },
  { name: "Zofia", languages: ["pl-PL"], gender: "female" },
  { name: "Elsa", languages: ["sv-SE"], gender: "female" },
  { name: "Mikkel", languages: ["da-DK"], gender: "male" },
  { name: "Ingrid", languages: ["nb-NO"], gender: "female" },
  { name: "Aino", languages: ["fi-FI"], gender: "female" }
]

/** In Hz. Tone speech is rendered at each of them. */
const sampleRates: ReadonlyArray<number> = [8000, 16_000, 22_050, 24_000]

/**
 * The number of frames in the first slice, and in the others. A slice ends with the first frame of a symbol, which is
 * when a decoder recognizes it: so the alignment is exact to the character.
 */
const firstSlice = framesPerSymbol + 1
const otherSlice = framesPerSymbol

/** The number of slices that are written before other fibers run. */
const slicesAtOnce = 100

const refuse = (reason: string) => Effect.fail(new TextToSpeechError({ reason, retryable: false }))

const speak = ({ sampleRate, sink, text }: TextRequest): Effect.Effect<void> => {
  const encoder = new ToneEncoder(text)
  const frameLength = sampleRate / 50
  let left = encoder.frames
  let next = firstSlice
  let written = 0
  /** Writes until the sink is full, other fibers should run, or the text is complete. */
  const write = (): "full" | "yield" | "done" => {
    for (let slice = 0; slice < slicesAtOnce; slice++) {
      if (left === 0) return "done"
      const frames = Math.min(next, left)
      next = otherSlice
      // A new array, because the sink may keep it.
      const samples = new Int16Array(frames * frameLength)
      for (let frame = 0; frame < frames; frame++) {
        renderFrame(encoder.next(), sampleRate, samples, frame * frameLength)
      }
      left -= frames
      const room = sink.write(samples)
      written += samples.length
      sink.align(encoder.characters, written)
      if (!room) return left === 0 ? "done" : "full"
    }
    return "yield"
  }
  const run: Effect.Effect<void> = Effect.suspend(() => {
    switch (write()) {
      case "done":
        return Effect.void
      case "full":
        return Effect.zipRight(sink.drained, run)
      case "yield":
        return Effect.zipRight(Effect.yieldNow(), run)
    }
  })
  return run
}

/** The space between two pieces of a turn is not spoken. */
const speakText = (request: TextRequest): Effect.Effect<void> => {
  const text = request.text.trimStart()
  const space = request.text.length - text.length
  if (text === "") return Effect.void
  const align: AudioSink["align"] = (characters, atSample) => request.sink.align(space + characters, atSample)
  return Effect.suspend(() => speak({ ...request, text, sink: { ...request.sink, align } }))
}

const openIdeal = byText(speakText)

/**
 * Synthesizes tone speech, about 16 characters per second at any speed. The voices differ only in name and languages. A
 * blank text writes nothing. With the realism of a call see {@link faultySpeech}.
 */
export const SimulatedTextToSpeech: Layer.Layer<TextToSpeech, never, CallRealism | CallRequests> = Layer.effect(
  TextToSpeech,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    const calls = yield* CallRealism
    return {
      id: "simulated",
      voices,
      sampleRates,
      sampleRatesFor: ({ callId }) => {
        const only = calls.of(callId).tts?.sample_rate
        return only === undefined ? sampleRates : [only]
      },
      cacheKey: ({ callId, language, speed, voice }) => {
        requests.record(callId, { tts: { language, voice, ...(speed === 1 ? {} : { speed }) } })
        const realism = calls.of(callId).tts
        return realism?.fail === undefined ? JSON.stringify(realism ?? {}) : undefined
      },
      health: Effect.succeed(healthy),
      open: (request) => {
        const { callId, language, speed } = request
        requests.record(callId, { tts: { language, voice: request.voice, ...(speed === 1 ? {} : { speed }) } })
        const voice = voices.find(({ name }) => name === request.voice)
        if (voice === undefined) return refuse(`there is no voice "${request.voice}"`)
        if (!languages.includes(language)) return refuse(`the language "${language}" is not supported`)
        if (voice.languages !== "*" && !voice.languages.includes(language)) {
          return refuse(`the voice "${voice.name}" does not speak ${language}`)
        }
        const realism = calls.of(callId).tts
        const rates = realism?.sample_rate === undefined ? sampleRates : [realism.sample_rate]
        if (!rates.includes(request.sampleRate)) return refuse(`${request.sampleRate} Hz is not supported`)
        if (realism === undefined) return openIdeal(request)
        const turn = faultySpeech({
          realism,
          random: calls.random(callId, "speech"),
          countText: () => calls.count(callId, "speech"),
          speak: speakText
        })
        return byText(turn)(request)
      }
    }
  })
)
