import type { Capability } from "@svc/plugin-host/PluginLoader"
import { Embedding } from "@svc/providers/Embedding"
import { LanguageModel } from "@svc/providers/LanguageModel"
import { ObjectStore } from "@svc/providers/ObjectStore"
import type { Providers } from "@svc/providers/Providers"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { Check } from "@svc/providers/testing/Check"
import { embeddingChecks } from "@svc/providers/testing/EmbeddingChecks"
import { languageModelChecks } from "@svc/providers/testing/LanguageModelChecks"
import { objectStoreChecks } from "@svc/providers/testing/ObjectStoreChecks"
import { textToSpeechChecks } from "@svc/providers/testing/TextToSpeechChecks"
import { voiceActivityChecks } from "@svc/providers/testing/VoiceActivityChecks"
import { VoiceActivity } from "@svc/providers/VoiceActivity"
import { type Context, Effect, Layer } from "effect"
import { atRate, framesOf, recorded } from "./SpeechSample.ts"

/** Real providers are slower than doubles, and each request may cost money. */
const options = { deadline: "30 seconds", sessions: 20 } as const

interface CapabilityCheck {
  readonly capability: Capability
  readonly check: Check
}

/** The recorded sentence at each rate that detectors are checked at. */
const sentences = Effect.gen(function* () {
  const speech = yield* recorded
  const frames = new Map<number, ReadonlyArray<Int16Array>>()
  for (const rate of [8000, 16_000, 24_000]) frames.set(rate, framesOf(yield* atRate(speech, rate), rate))
  return (sampleRate: number) => frames.get(sampleRate) ?? []
})

/**
 * The conformance checks of a running plugin, without those that need a faulty peer, a phone, or speech that the
 * speech-to-text knows word for word: these are for the plugin's own tests.
 */
export const checksOf = (loaded: Context.Tag.Service<Providers>): Effect.Effect<ReadonlyArray<CapabilityCheck>> =>
  Effect.map(sentences, (speak) => checks(loaded, speak))

const checks = (
  { embedding, languageModel, objectStore, textToSpeech, voiceActivity }: Context.Tag.Service<Providers>,
  speak: (sampleRate: number) => ReadonlyArray<Int16Array>
): ReadonlyArray<CapabilityCheck> => {
  const of = (capability: Capability, checks: ReadonlyArray<Check>): ReadonlyArray<CapabilityCheck> =>
    checks.map((check) => ({ capability, check }))
  return [
    ...textToSpeech.flatMap((service) =>
      of("textToSpeech", textToSpeechChecks({ ...options, layer: Layer.succeed(TextToSpeech, service) }))
    ),
    ...languageModel.flatMap((service) =>
      of(
        "languageModel",
        languageModelChecks({
          ...options,
          layer: Layer.succeed(LanguageModel, service),
          text: { prompt: { messages: [{ role: "user", content: "Count from one to ten in words." }] } }
        })
      )
    ),
    ...(voiceActivity === undefined
      ? []
      : of(
          "voiceActivity",
          voiceActivityChecks({
            ...options,
            layer: Layer.succeed(VoiceActivity, voiceActivity),
            speak
          })
        )),
    ...(embedding === undefined
      ? []
      : of("embedding", embeddingChecks({ ...options, layer: Layer.succeed(Embedding, embedding) }))),
    ...(objectStore === undefined
      ? []
      : of("objectStore", objectStoreChecks({ ...options, layer: Layer.succeed(ObjectStore, objectStore) })))
  ]
}
