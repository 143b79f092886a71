import type { CallAgent } from "@svc/agents/Agents"
import { AgentServerClient } from "@svc/call-engine/agent-server/AgentServerClient"
import { VirtualTime } from "@svc/call-engine/media/VirtualTime"
import { LiveCallWriter } from "@svc/call-engine/record/LiveCallWriter"
import { Recorder } from "@svc/call-engine/recording/Recorder"
import { CallKnowledge } from "@svc/call-engine/session/CallKnowledge"
import { CallMessages } from "@svc/call-engine/session/CallMessages"
import { phoneServices } from "@svc/call-engine/session/PhoneServices"
import * as PhoneSession from "@svc/call-engine/session/PhoneSession"
import { SpeechCache } from "@svc/call-engine/speech/SpeechCache"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { legFormats, mulaw8k } from "@svc/providers/Audio"
import { pcmToMulaw } from "@svc/providers/G711"
import { Providers } from "@svc/providers/Providers"
import { speakText } from "@svc/providers/SpeechTurn"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { ConfigProvider, Effect, FiberSet, Layer } from "effect"

/** Calls in virtual time, with the simulated providers: a caller who says one turn after the other. */

const frameSamples = 160

const agent: CallAgent = {
  id: 1,
  public_id: facts.agent_id,
  org_id: 1,
  project_id: 1,
  name: "Bench",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  recording: false,
  end_call_enabled: true,
  has_knowledge_bases: false,
  server_url: "http://127.0.0.1:1/",
  server_secret: "secret"
}

/** One turn of the caller: texts with a pause of so many milliseconds between them. */
export interface CallerTurn {
  readonly texts: ReadonlyArray<string>
  readonly pauseMs: number
}

/** What a request to the model cost, in tokens of about four characters. */
export interface Tokens {
  requests: number
  input: number
  output: number
}

export interface Measured {
  /** From the caller's last sound to the agent's first frame, for each turn that was answered, in milliseconds. */
  readonly answers: ReadonlyArray<number>
  readonly tokens: Tokens
}

const tokensOf = (text: string): number => Math.ceil(text.length / 4)

/** The providers, with a count of what the model is asked and gives, answers that are dropped included. */
const counting = (tokens: Tokens) =>
  Layer.effect(
    Providers,
    Effect.map(Providers, (loaded) => ({
      ...loaded,
      languageModel: loaded.languageModel.map((model) => ({
        ...model,
        generate: (request: Parameters<typeof model.generate>[0], onDelta: Parameters<typeof model.generate>[1]) =>
          Effect.suspend(() => {
            tokens.requests++
            for (const { content } of request.messages) tokens.input += tokensOf(content)
            return model.generate(request, (delta) => {
              if (delta._tag === "Text") tokens.output += tokensOf(delta.text)
              onDelta(delta)
            })
          })
      }))
    }))
  ).pipe(Layer.provide(PluginLoader.layer()))

/** What calls have beside audio and providers: an agent's server with one answer, and nothing is stored. */
const surroundings = (answer: unknown) =>
  Layer.mergeAll(
    Layer.succeed(LiveCallWriter, {
      journal: { append: () => {}, flush: Effect.void },
      events: { emit: () => {} },
      answered: { mark: () => {} },
      serverRequests: { add: () => {} }
    }),
    Layer.succeed(Recorder, {
      begin: () => {
        throw new Error("the bench records nothing")
      },
      isWriting: () => false
    }),
    CallKnowledge.layerNone,
    SpeechCache.layerMemory,
    Layer.succeed(CallMessages, { send: () => Effect.succeed("sms_1") }),
    Layer.succeed(AgentServerClient, {
      callStarted: () => Effect.succeed(answer),
      toolCall: () => Effect.succeed("ok"),
      transcriptUpdated: () => Effect.void
    })
  )

/** Runs a call in which the caller says these turns, each `restMs` after the end of the one before. */
export const measure = (options: {
  readonly id: number
  readonly answer: unknown
  readonly turns: ReadonlyArray<CallerTurn>
  readonly restMs: number
}): Effect.Effect<Measured> => {
  const tokens: Tokens = { requests: 0, input: 0, output: 0 }
  return Effect.gen(function* () {
    const time = yield* VirtualTime
    const { textToSpeech } = yield* Providers
    const [voice] = textToSpeech
    if (voice === undefined) return yield* Effect.dieMessage("no voice is loaded")
    const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
    const services = yield* phoneServices((effect) => void background(effect))
    let listener: (event: CallEvent) => void = () => {}
    /** When each frame was sent to the caller. */
    const sent: Array<number> = []
    const leg: CallLeg = {
      format: mulaw8k,
      listen: (l) => {
        listener = l
      },
      send: () => void sent.push(time.now()),
      mark: () => {},
      clear: () => {},
      hangup: () => {}
    }
    yield* PhoneSession.make(services, {
      id: options.id,
      connection: {
        id: `${options.id}`,
        from: facts.from,
        to: facts.to ?? "",
        headers: {},
        ringing: () => {},
        answer: () => Effect.succeed(leg),
        reject: () => {},
        canceled: Effect.never
      },
      agent,
      facts: { ...facts, ...services.facts },
      formats: legFormats
    })
    const play = (pcm: ReadonlyArray<number>) =>
      Effect.gen(function* () {
        const samples = Int16Array.from(pcm)
        const payload = new Uint8Array(frameSamples)
        for (let at = 0; at + frameSamples <= samples.length; at += frameSamples) {
          pcmToMulaw(samples, at, frameSamples, payload, 0)
          listener({ _tag: "Audio", payload })
          yield* time.advance("20 millis")
        }
      })
    const silence = (ms: number) => play(new Array<number>(ms * 8).fill(0))
    const speech = (text: string) =>
      Effect.gen(function* () {
        const spoken: Array<number> = []
        yield* speakText(voice, {
          callId: "caller",
          turn: text,
          speed: 1,
          text,
          voice: "Sarah",
          language: "en-US",
          sampleRate: mulaw8k.sampleRate,
          sink: { write: (pcm) => spoken.push(...pcm) > 0, align: () => {}, drained: Effect.void }
        })
        yield* play(spoken)
      })

    const answers: Array<number> = []
    yield* silence(2000)
    for (const [n, { pauseMs, texts }] of options.turns.entries()) {
      // Turns begin at different times of the frames' clock.
      yield* time.advance(((n * 7) % 20) + options.id)
      for (const [part, text] of texts.entries()) {
        if (part > 0) yield* silence(pauseMs)
        yield* speech(text)
      }
      const ended = time.now()
      yield* silence(options.restMs)
      const first = sent.find((at) => at > ended)
      if (first === undefined) return yield* Effect.dieMessage(`turn ${n} of call ${options.id} was not answered`)
      answers.push(first - ended)
    }
    listener({ _tag: "Ended", cause: "hangup" })
    yield* time.advance("3 seconds")
    return { answers, tokens }
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.mergeAll(surroundings(options.answer), VirtualTime.layer(facts.started_at))),
    Effect.provide(counting(tokens)),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))),
    Effect.orDie
  )
}
