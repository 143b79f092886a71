import { expect } from "@effect/vitest"
import type { CallAgent } from "@svc/agents/Agents"
import type { CallStartedRequest, ToolCallRequest } from "@svc/api/callbacks/CallStarted"
import type { EventDraft } from "@svc/api/events/Event"
import { codecOf } from "@svc/audio/Codec"
import type { CommandOf } from "@svc/conversation/Command"
import { facts } from "@svc/conversation/testing/Script"
import { frameBytes, frameMs, frameSamples, mulaw8k } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import { speakText } from "@svc/providers/SpeechTurn"
import type { CallEvent, CallLeg, IncomingCall, TransferState } from "@svc/providers/Telephony"
import { Clock, Effect, FiberSet, Layer } from "effect"
import { AgentServerClient } from "../../src/agent-server/AgentServerClient.ts"
import type { JournalRow } from "../../src/record/JournalRepo.ts"
import { LiveCallWriter } from "../../src/record/LiveCallWriter.ts"
import { Recorder } from "../../src/recording/Recorder.ts"
import { CallKnowledge } from "../../src/session/CallKnowledge.ts"
import { CallMessages, type MessageFailed } from "../../src/session/CallMessages.ts"
import { SpeechCache } from "../../src/speech/SpeechCache.ts"

/** Doubles for calls in virtual time: the network, the agent's server and the database. Everything else is real. */

export const agent: CallAgent = {
  id: 1,
  public_id: facts.agent_id,
  org_id: 1,
  project_id: 1,
  name: "Test",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  recording: false,
  end_call_enabled: true,
  has_knowledge_bases: false,
  server_url: "http://127.0.0.1:1/",
  server_secret: "secret"
}

/** What calls produced: journal rows, events, and `transcript.updated` as `role: content`. */
export interface Log {
  readonly rows: Array<JournalRow>
  readonly events: Array<EventDraft>
  readonly transcript: Array<string>
}

/** An agent's server that answers from functions. */
export interface VirtualServer {
  readonly callStarted: (body: CallStartedRequest) => Effect.Effect<unknown>
  readonly toolCall: (body: ToolCallRequest) => Effect.Effect<unknown>
  /** The text messages of the call; by default each is sent. */
  readonly sendSms?: (sms: CommandOf<"SendSms">) => Effect.Effect<string, MessageFailed>
}

/** Layers that log in memory and answer as the agent's server. */
export const memory = (log: Log, server: VirtualServer) =>
  Layer.mergeAll(
    Layer.succeed(LiveCallWriter, {
      journal: { append: (row) => void log.rows.push(row), flush: Effect.void },
      events: { emit: (event) => void log.events.push(event) },
      answered: { mark: () => {} },
      serverRequests: { add: () => {} }
    }),
    Layer.succeed(Recorder, { begin: () => expect.fail("nothing is to be recorded"), isWriting: () => false }),
    CallKnowledge.layerNone,
    SpeechCache.layerMemory,
    Layer.succeed(CallMessages, { send: (_, __, sms) => server.sendSms?.(sms) ?? Effect.succeed("sms_1") }),
    Layer.succeed(AgentServerClient, {
      callStarted: (_, body) => server.callStarted(body),
      toolCall: (_, body) => server.toolCall(body),
      transcriptUpdated: (_, body) => Effect.sync(() => void log.transcript.push(`${body.role}: ${body.content}`))
    })
  )

/** What a network does to the caller's audio. */
export interface NetworkKind {
  /** Sends nothing in silence. */
  readonly dtx?: boolean
  /** Delivers packets. The function gives the delay of each in ms; undefined: it is lost. */
  readonly packets?: (index: number) => number | undefined
  /** The agent's voice comes back in the caller's audio, this much later and quieter. */
  readonly echo?: EchoOfAgent
}

export interface EchoOfAgent {
  readonly delayMs: number
  readonly db: number
}

/** The microphone of a phone that hears the agent. Times in ms. */
class EchoPath {
  readonly #sent = new Float64Array(1 << 17)
  readonly #delay: number
  readonly #gain: number
  readonly #perMs: number
  #next = 0

  constructor({ db, delayMs }: EchoOfAgent, sampleRate: number) {
    this.#perMs = sampleRate / 1000
    this.#delay = delayMs
    this.#gain = 10 ** (-db / 20)
  }

  put(frame: Int16Array, now: number): void {
    const at = Math.max(this.#next, Math.round(now * this.#perMs))
    for (const [n, sample] of frame.entries()) this.#sent[(at + n) % this.#sent.length] = sample * this.#gain
    this.#next = at + frame.length
  }

  /** Adds what comes back in the time before `now` that the frame is long. */
  mix(frame: Int16Array, now: number): void {
    const from = Math.round((now - this.#delay) * this.#perMs) - frame.length
    for (const [n, sample] of frame.entries()) {
      const at = (from + n + this.#sent.length) % this.#sent.length
      frame[n] = Math.max(-32_768, Math.min(32_767, Math.round(sample + (this.#sent[at] ?? 0))))
      this.#sent[at] = 0
    }
  }
}

/** The part of a leg in which networks differ. */
export interface LegKind
  extends Pick<CallLeg, "aheadMs" | "format" | "keyEvents" | "marks" | "playoutDelayMs" | "quality"> {
  readonly network?: NetworkKind
  /** How many milliseconds after the last frame before it began to play it confirms a mark as played; absent: never. */
  readonly confirmsAfter?: number
}

/** A caller in virtual time, on a leg of this kind: speaks in 20 ms frames, presses digits, and hangs up. */
export const callerOn = ({ confirmsAfter, format, network = {}, ...kind }: LegKind) =>
  Effect.gen(function* () {
    const { textToSpeech } = yield* Providers
    const voice = textToSpeech.at(-1)
    if (voice === undefined) return yield* Effect.dieMessage("no voice")
    let listener: (event: CallEvent) => void = () => {}
    const run = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
    const clock = yield* Effect.clock
    const began = clock.unsafeCurrentTimeMillis()
    const echo = network.echo === undefined ? undefined : new EchoPath(network.echo, format.sampleRate)
    const sentPcm = new Int16Array(frameSamples(format))
    const heard: Array<Uint8Array> = []
    const transfers: Array<string> = []
    const hangups: Array<string> = []
    /** When the last frame that was sent begins to play. */
    let lastPlays = Number.NEGATIVE_INFINITY
    const leg: CallLeg = {
      ...kind,
      format,
      listen: (l) => {
        listener = l
      },
      send: (frame) => {
        heard.push(frame.slice())
        const frames = frame.length / frameBytes(format)
        lastPlays = Math.max(clock.unsafeCurrentTimeMillis(), lastPlays + frameMs) + (frames - 1) * frameMs
        if (echo === undefined) return
        codecOf(format).decode(frame, 0, sentPcm.length, sentPcm, 0)
        echo.put(sentPcm, clock.unsafeCurrentTimeMillis() - began)
      },
      mark: (name) => {
        if (confirmsAfter === undefined) return
        const confirm = Effect.sync(() => listener({ _tag: "Mark", name, outcome: "played" }))
        run(Effect.delay(confirm, Math.max(0, lastPlays - clock.unsafeCurrentTimeMillis()) + confirmsAfter))
      },
      clear: () => {},
      hangup: (reason) => void hangups.push(reason),
      transferBlind: (target) => void transfers.push(target)
    }
    const connection: IncomingCall = {
      id: "1",
      from: facts.from,
      to: facts.to ?? "",
      headers: {},
      ringing: () => {},
      answer: () => Effect.succeed(leg),
      reject: () => {},
      canceled: Effect.never
    }
    let packets = 0
    let plays = 0
    const deliver = (payload: Uint8Array, at: number) => {
      const sequence = (65_530 + packets++) & 0xffff
      const delay = network.packets?.(packets)
      if (network.packets === undefined) return listener({ _tag: "Audio", payload })
      if (delay === undefined) return
      const timestamp = (4_294_960_000 + at * (format.sampleRate / 1000)) >>> 0
      const packet: CallEvent = { _tag: "Audio", payload: payload.slice(), sequence, timestamp }
      if (delay === 0) return listener(packet)
      run(
        Effect.delay(
          Effect.sync(() => listener(packet)),
          delay
        )
      )
    }
    /** What the microphone of a phone with an echo has not heard yet. */
    const spoken: Array<Int16Array> = []
    /** Such a phone sends all the time. */
    if (echo !== undefined)
      run(
        Effect.forever(
          Effect.sync(() => {
            const pcm = new Int16Array(frameSamples(format))
            const bytes = new Uint8Array(frameBytes(format))
            pcm.set(spoken.shift() ?? [])
            echo.mix(pcm, clock.unsafeCurrentTimeMillis() - began)
            codecOf(format).encode(pcm, 0, pcm.length, bytes, 0)
            deliver(bytes, clock.unsafeCurrentTimeMillis())
          }).pipe(Effect.delay("20 millis"))
        )
      )
    /** Sends samples in 20 ms frames. */
    const play = (audio: Int16Array) =>
      Effect.gen(function* () {
        const samples = frameSamples(format)
        if (echo !== undefined) {
          for (let at = 0; at + samples <= audio.length; at += samples) spoken.push(audio.slice(at, at + samples))
          return
        }
        const bytes = new Uint8Array(frameBytes(format))
        const mine = ++plays
        for (let at = 0; at + samples <= audio.length; at += samples) {
          codecOf(format).encode(audio, at, samples, bytes, 0)
          const isSilent = audio.subarray(at, at + samples).every((sample) => sample === 0)
          // The microphone hears what is said next, and not the silence after what was said before.
          if (isSilent && mine !== plays) return
          if (network.dtx !== true || !isSilent) deliver(bytes, yield* Clock.currentTimeMillis)
          yield* Effect.sleep("20 millis")
        }
      })
    const say = (text: string) =>
      Effect.gen(function* () {
        const spoken: Array<number> = []
        yield* speakText(voice, {
          callId: "caller",
          turn: text,
          speed: 1,
          text,
          voice: "Sarah",
          language: "en-US",
          sampleRate: format.sampleRate,
          sink: { write: (pcm) => spoken.push(...pcm) > 0, align: () => {}, drained: Effect.void }
        })
        yield* play(Int16Array.from([...spoken, ...new Array<number>(format.sampleRate / 2).fill(0)]))
      })
    const press = (keys: string, source: "rfc4733" | "in-band" | "signaling" = "signaling") =>
      Effect.sync(() => {
        for (const digit of keys) listener({ _tag: "Dtmf", digit, source })
      })
    /** A tone of 1 kHz, and silence after it. */
    const beep = Effect.suspend(() => {
      const { sampleRate } = format
      const level = (n: number) => (n < sampleRate / 2 ? 9000 : 0)
      const tone = (_: unknown, n: number) => Math.round(level(n) * Math.sin((2 * Math.PI * 1000 * n) / sampleRate))
      return play(Int16Array.from({ length: 0.7 * sampleRate }, tone))
    })
    const progress = (state: TransferState) => Effect.sync(() => listener({ _tag: "TransferProgress", state }))
    const emit = (event: CallEvent) => Effect.sync(() => listener(event))
    const hangup = emit({ _tag: "Ended", cause: "hangup" })
    return {
      connection,
      leg,
      say,
      play,
      beep,
      press,
      progress,
      emit,
      hangup,
      hangups,
      transfers,
      heard,
      frames: () => heard.length
    }
  })

export const caller = callerOn({ format: mulaw8k })
