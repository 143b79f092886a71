import type { Capability } from "@svc/plugin-host/PluginLoader"
import type { Embedding } from "@svc/providers/Embedding"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import type { ObjectStore } from "@svc/providers/ObjectStore"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { speakText } from "@svc/providers/SpeechTurn"
import type { Telephony } from "@svc/providers/Telephony"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { VoiceActivity } from "@svc/providers/VoiceActivity"
import { Clock, Config, type Context, Data, Effect, Option, Stream } from "effect"
import { atRate, frameMs, framesOf, type Speech } from "./SpeechSample.ts"

/** A probe did not get what it asked for; `reason` is one plain sentence. */
export class ProbeFailed extends Data.TaggedError("ProbeFailed")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/** What one real request to a provider showed. */
export interface Probe {
  readonly capability: Capability
  /** Makes the request. Times are in milliseconds. */
  readonly run: Effect.Effect<
    { readonly found: string; readonly times: { readonly [what: string]: number } },
    ProbeFailed
  >
}

/** The text that text-to-speech speaks and speech-to-text hears. */
export const sampleText = "Testing, one two three."

type Service<T> = T extends Context.Tag<infer _, infer S> ? S : never

const callId = "check"

const fromError = (error: { readonly reason: string }) => new ProbeFailed({ reason: error.reason })

const firstWords = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > 60 ? `${line.slice(0, 57)}…` : line
}

export const languageModel = (model: Service<typeof LanguageModel>): Probe => ({
  capability: "languageModel",
  run: Effect.gen(function* () {
    const clock = yield* Effect.clock
    const start = clock.unsafeCurrentTimeMillis()
    const times: Record<string, number> = {}
    let [text, usage] = ["", ""]
    yield* model
      .generate(
        {
          callId,
          messages: [{ role: "user", content: "Answer with one short sentence: what is the weather like in spring?" }],
          tools: [],
          maxOutputTokens: 200,
          variables: {}
        },
        (delta) => {
          if (delta._tag === "Text") {
            times["first token"] ??= clock.unsafeCurrentTimeMillis() - start
            text += delta.text
          }
          if (delta._tag === "Usage") usage = `, ${delta.inputTokens} + ${delta.outputTokens} tokens`
        }
      )
      .pipe(Effect.mapError(fromError))
    if (text.trim() === "") return yield* new ProbeFailed({ reason: "it answered without a text" })
    times["whole answer"] = clock.unsafeCurrentTimeMillis() - start
    return { found: `${model.models[0] ?? "its model"} answered "${firstWords(text)}"${usage}`, times }
  })
})

/** The audio of a text in the provider's first voice, and how long that took. */
const synthesized = (provider: Service<typeof TextToSpeech>) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const voice =
      provider.voices.find(({ languages }) => languages === "*" || languages.includes("en-US")) ?? provider.voices[0]
    if (voice === undefined) return yield* new ProbeFailed({ reason: "it has no voice" })
    const language =
      voice.languages === "*"
        ? "en-US"
        : (voice.languages.find((tag) => tag === "en-US") ?? voice.languages[0] ?? "en-US")
    const rates = provider.sampleRatesFor?.({ callId, voice: voice.name, language }) ?? provider.sampleRates
    const sampleRate = rates.includes(8000) ? 8000 : (rates[0] ?? 8000)
    const chunks: Array<Int16Array> = []
    let [first, aligned] = [-1, 0]
    const start = clock.unsafeCurrentTimeMillis()
    yield* speakText(provider, {
      callId,
      turn: "check",
      voice: voice.name,
      language,
      sampleRate,
      speed: 1,
      text: sampleText,
      sink: {
        write: (samples) => {
          if (first < 0) first = clock.unsafeCurrentTimeMillis() - start
          chunks.push(samples.slice())
          return true
        },
        align: () => {
          aligned++
        },
        drained: Effect.void
      }
    }).pipe(Effect.mapError(fromError))
    const whole = clock.unsafeCurrentTimeMillis() - start
    const samples = Int16Array.from(chunks.flatMap((chunk) => [...chunk]))
    return { voice, samples, sampleRate, aligned, times: { "first audio": first, "whole audio": whole } }
  })

const loudest = (samples: Int16Array): number => samples.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0)

export const textToSpeech = (provider: Service<typeof TextToSpeech>): Probe => ({
  capability: "textToSpeech",
  run: Effect.gen(function* () {
    const { aligned, sampleRate, samples, times, voice } = yield* synthesized(provider)
    if (loudest(samples) < 300) return yield* new ProbeFailed({ reason: `voice ${voice.name} gave silence` })
    const seconds = (samples.length / sampleRate).toFixed(1)
    const words = aligned > 0 ? "with word times" : "without word times"
    return {
      found: `voice ${voice.name} of ${provider.voices.length} gave ${seconds} s of audio at ${sampleRate} Hz, ${words}`,
      times
    }
  })
})

/** What speech-to-text of this plugin hears: the plugin's own text-to-speech, else a recording. */
export const speechFor = (
  voice: Service<typeof TextToSpeech> | undefined,
  recorded: Effect.Effect<Speech>
): Effect.Effect<Speech> =>
  voice === undefined
    ? recorded
    : synthesized(voice).pipe(
        Effect.map(({ sampleRate, samples }) => ({ samples, sampleRate })),
        // The check of the voice itself says why.
        Effect.catchAll(() => recorded)
      )

/** Milliseconds of silence after the speech, in which a final transcript must come. */
const longestWaitMs = 8000

export const speechToText = (provider: Service<typeof SpeechToText>, speech: Effect.Effect<Speech>): Probe => ({
  capability: "speechToText",
  run: Effect.gen(function* () {
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    const { languages, sampleRates } = provider.capabilities
    const rate = sampleRates.includes(8000) ? 8000 : (sampleRates[0] ?? 8000)
    const frames = framesOf(yield* atRate(yield* speech, rate), rate)
    const heard: Array<string> = []
    const times: Record<string, number> = {}
    let failure: string | undefined
    let [hasPartials, isPartial, finalAt] = [false, false, 0]
    const start = now()
    const session = yield* provider
      .open({
        callId,
        language: languages.find((tag) => tag === "en-US") ?? languages[0] ?? "en-US",
        sampleRate: rate,
        format: "smart",
        keyterms: [],
        onEvent: (event) => {
          if (event._tag === "Failed") failure = event.error.reason
          if (event._tag === "Partial") {
            isPartial = event.text.trim() !== ""
            hasPartials ||= isPartial
          }
          if (event._tag !== "Final" || event.text.trim() === "") return
          heard.push(event.text)
          isPartial = false
          finalAt = now()
        }
      })
      .pipe(Effect.mapError(fromError))
    times["open"] = now() - start
    session.voiceActivity?.(true)
    for (const frame of frames) {
      session.push(frame)
      yield* Effect.sleep(frameMs)
    }
    const spoken = now()
    session.voiceActivity?.(false)
    const silence = new Int16Array((rate * frameMs) / 1000)
    while (failure === undefined && (isPartial || heard.length === 0) && now() - spoken < longestWaitMs) {
      session.push(silence)
      yield* Effect.sleep(frameMs)
    }
    if (failure === undefined && heard.length === 0) yield* session.finish
    if (failure !== undefined) return yield* new ProbeFailed({ reason: failure })
    if (heard.length === 0) {
      return yield* new ProbeFailed({ reason: `it heard nothing in speech that says "${sampleText}"` })
    }
    times["final after speech"] = Math.max(0, finalAt - spoken)
    return {
      found: `heard "${firstWords(heard.join(" "))}", ${hasPartials ? "with" : "without"} partial transcripts`,
      times
    }
  }).pipe(Effect.scoped)
})

const timed = <A, E extends { readonly reason: string }>(
  what: string,
  effect: Effect.Effect<A, E>,
  times: Record<string, number>
) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const value = yield* Effect.mapError(effect, fromError)
    times[what] = (yield* Clock.currentTimeMillis) - start
    return value
  })

export const embedding = (provider: Service<typeof Embedding>): Probe => ({
  capability: "embedding",
  run: Effect.gen(function* () {
    const times: Record<string, number> = {}
    yield* timed("one text", provider.embed([sampleText], "query"), times)
    return { found: `${provider.model} gave ${provider.dimensions} numbers`, times }
  })
})

export const objectStore = (store: Service<typeof ObjectStore>): Probe => ({
  capability: "objectStore",
  run: Effect.gen(function* () {
    const times: Record<string, number> = {}
    const key = `checks/${crypto.randomUUID()}`
    const bytes = new TextEncoder().encode(sampleText)
    const write = Effect.scoped(
      Effect.flatMap(store.write(key, "text/plain"), (writer) => Effect.zipRight(writer.append(bytes), writer.finish))
    )
    const read = Stream.runFold(store.read(key), 0, (sum, chunk) => sum + chunk.length)
    const length = yield* Effect.ensuring(
      Effect.zipRight(timed("write", write, times), timed("read", read, times)),
      // What was written is removed, also where it could not be read.
      Effect.ignore(store.remove(key))
    )
    if (length !== bytes.length) {
      return yield* new ProbeFailed({ reason: `it gave ${length} bytes of ${bytes.length} that were written` })
    }
    const left = yield* timed("remove and look", Effect.zipRight(store.remove(key), store.size(key)), times)
    if (Option.isSome(left)) return yield* new ProbeFailed({ reason: "an object that was removed is still there" })
    return { found: `wrote, read and removed ${bytes.length} bytes`, times }
  })
})

/**
 * Whether the public address of this server reaches the plugin: its webhook for calls must refuse a request without a
 * signature. Only for a network with such a webhook, and where `SVC_BASE_URL` is set.
 */
const publicAddress = ({ id, routes }: Service<typeof Telephony>) =>
  Effect.gen(function* () {
    const baseUrl = yield* Effect.orElseSucceed(Config.option(Config.string("SVC_BASE_URL")), Option.none)
    const hasWebhook = routes.some(
      (route) => route._tag === "Http" && route.method === "POST" && route.path === "/voice"
    )
    if (Option.isNone(baseUrl) || !hasWebhook) return undefined
    const base = baseUrl.value.replace(/\/+$/, "")
    const url = `${base}/telephony/${id}/voice`
    const failed = (what: string) =>
      new ProbeFailed({
        reason: `${url} ${what}; carriers reach this server there, so look at SVC_BASE_URL, the proxy, and whether the server runs with this plugin`
      })
    const { status, text } = yield* Effect.tryPromise({
      try: (signal) =>
        fetch(url, { method: "POST", body: "", redirect: "manual", signal }).then((response) =>
          response.text().then((text) => ({ status: response.status, text }))
        ),
      catch: (error) => failed(`cannot be reached: ${Object(Object(error).cause ?? error).code ?? error}`)
    }).pipe(
      Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => failed("does not answer within 10 seconds") })
    )
    // The refusal names what is missing, which that of another server does not.
    const isRefusal = (status === 400 || status === 401 || status === 403) && /signature/i.test(text)
    return isRefusal ? base : yield* failed(`answered ${status}`)
  })

export const telephony = (network: Service<typeof Telephony>): Probe => ({
  capability: "telephony",
  run: Effect.gen(function* () {
    const times: Record<string, number> = {}
    const start = yield* Clock.currentTimeMillis
    const health = yield* network.check ?? network.health
    times["health"] = (yield* Clock.currentTimeMillis) - start
    if (!health.healthy) return yield* new ProbeFailed({ reason: health.reason })
    const owned = network.numbers?.owned
    const numbers = owned === undefined ? undefined : yield* timed("list of numbers", owned, times)
    const reached = yield* timed("public address", publicAddress(network), times)
    if (reached === undefined) delete times["public address"]
    const found = [
      ...(numbers === undefined ? [] : [`the carrier has ${numbers.length} numbers of this account`]),
      ...(reached === undefined ? [] : [`${reached} reaches this plugin`])
    ]
    return { found: ["healthy", ...(found.length === 0 ? ["only a call shows more"] : found)].join("; "), times }
  })
})

export const voiceActivity = (detectors: Service<typeof VoiceActivity>, speech: Effect.Effect<Speech>): Probe => ({
  capability: "voiceActivity",
  run: Effect.gen(function* () {
    const frames = framesOf(yield* atRate(yield* speech, 8000), 8000)
    const detector = detectors.open(8000)
    const start = performance.now()
    const found = frames.filter((frame) => detector.push(frame) === "speech").length
    const ms = performance.now() - start
    detector.close?.()
    if (found === 0) return yield* new ProbeFailed({ reason: "it found no speech in speech" })
    return {
      found: `${Math.round((100 * found) / frames.length)} % of the frames of a spoken sentence are speech`,
      times: { "per second of audio": ms / ((frames.length * frameMs) / 1000) }
    }
  })
})
