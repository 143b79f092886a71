import { AudioChunks, type ChunkEncoding, encodedSamples } from "@svc/providers/AudioChunks"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import {
  type SpeechEvent,
  type SpeechToTextChange,
  SpeechToTextError,
  type SpeechToTextOptions,
  type SpeechToTextSession
} from "@svc/providers/SpeechToText"
import type { ClientSocket } from "@svc/providers/WebSocketClient"
import { Deferred, Effect, type Scope } from "effect"
import { type DeepgramServer, messageOf } from "./DeepgramServer.ts"

/** What the protocol of an endpoint needs of its session. */
export interface ListenContext {
  readonly server: DeepgramServer
  readonly options: SpeechToTextOptions
  readonly emit: (event: SpeechEvent) => void
  /** Milliseconds of the audio pushed at a time of the server, in seconds. */
  readonly heardMs: (seconds: number) => number
  /** Milliseconds of audio pushed. */
  readonly pushedMs: () => number
  /** Ends the session: the server cannot go on. */
  readonly fail: (reason: string) => void
}

/** The messages of one endpoint. */
export interface ListenProtocol {
  readonly path: string
  /** Without the format of the audio. */
  readonly query: URLSearchParams
  /** The length of a message with audio. */
  readonly chunkMs: number
  /** The message that keeps an idle connection open; undefined where only audio does. */
  readonly keepAlive: string | undefined
  readonly flush: string
  /** Reads a message. May throw when it is no such message. */
  readonly read: (message: { readonly type: string }) => void
  /** The fields of `Configure` that change these options; undefined where a session cannot. */
  readonly update: (change: SpeechToTextChange) => { readonly [field: string]: unknown } | undefined
  /** Emits words that would be lost: the connection has ended as it should, or was lost. */
  readonly emitRest: (how: "finished" | "lost") => void
}

/** How long a connection may be idle; the server closes it after 10 s (docs/audio-keep-alive). */
const idleMs = 4000
/** Silence that is sent where there is no message to keep a connection open. */
const silenceMs = 100
/** Speech without any message of the server after which it counts as hung, in audio and in time. */
const stalledMs = 5000
const closeStream = JSON.stringify({ type: "CloseStream" })

/** Mu-law at 8 kHz, as most telephone networks have it, else PCM16. */
const encodingOf = (sampleRate: number): ChunkEncoding => (sampleRate === 8000 ? "mulaw" : "pcm16")
/** Deepgram's names. */
const encodingNames: { readonly [E in ChunkEncoding]: string } = { mulaw: "mulaw", pcm16: "linear16" }

/** A session over one WebSocket, which fails when the connection is lost: the engine opens another. */
export const open = (
  server: DeepgramServer,
  options: SpeechToTextOptions,
  protocolOf: (context: ListenContext) => ListenProtocol
): Effect.Effect<SpeechToTextSession, SpeechToTextError, Scope.Scope> =>
  Effect.gen(function* () {
    const { sampleRate } = options
    const clock = yield* Effect.clock
    const now = () => monotonicMillis(clock)
    const seconds = server.host.metrics.counter("audio_seconds", {
      description: "Seconds of audio sent to speech-to-text, which are charged"
    })
    const finished = yield* Deferred.make<void>()
    let socket: ClientSocket | undefined
    let isOver = false
    let isFinishing = false
    let pushed = 0
    let isSpeaking = false
    /** The samples of speech pushed since the last message, and when the first of them was. */
    let unanswered = 0
    let unansweredAt = 0
    /** Silence of ours, at places of what the server has heard. */
    const inserted: Array<{ readonly at: number; readonly ms: number }> = []
    const perMs = sampleRate / 1000

    const emit = (event: SpeechEvent): void => {
      if (!isOver) options.onEvent(event)
    }
    const end = (): void => {
      isOver = true
      Deferred.unsafeDone(finished, Effect.void)
    }
    const failWith = (reason: string, retryable: boolean): void => {
      if (isOver) return
      protocol.emitRest("lost")
      emit({ _tag: "Failed", error: new SpeechToTextError({ reason, retryable }) })
      end()
    }
    const fail = (reason: string): void => failWith(server.failures.shown(reason), true)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        end()
        seconds.add(chunks.sent / sampleRate)
      })
    )

    const pushedMs = () => pushed / perMs
    const heardMs = (time: number): number => {
      const at = time * 1000
      const ours = inserted.reduce((sum, one) => sum + Math.min(one.ms, Math.max(0, at - one.at)), 0)
      return Math.round(Math.min(pushedMs(), Math.max(0, at - ours)))
    }
    const protocol = protocolOf({ server, options, emit, heardMs, pushedMs, fail })
    const encoding = encodingOf(sampleRate)
    const chunks = new AudioChunks({
      encoding,
      samples: protocol.chunkMs * perMs,
      send: (chunk) => socket?.send(chunk)
    })

    const onClosed = ({ code, failure }: { readonly code: number; readonly failure: SpeechToTextFailure }): void => {
      if (isOver) return
      if (isFinishing && code === 1000) {
        protocol.emitRest("finished")
        end()
      } else failWith(failure.reason, failure.retryable)
    }
    const sendSilence = (): Buffer => {
      chunks.flush()
      const samples = new Int16Array(silenceMs * perMs)
      inserted.push({ at: chunks.sent / perMs, ms: silenceMs })
      chunks.sent += samples.length
      return encodedSamples(encoding, samples)
    }
    protocol.query.set("encoding", encodingNames[encoding])
    protocol.query.set("sample_rate", String(sampleRate))
    socket = yield* server
      .connect(protocol.path, protocol.query, {
        onMessage: (message) => {
          unanswered = 0
          if (!isOver) protocol.read(messageOf(message))
        },
        onClosed,
        keepAlive: {
          idleMs,
          message: () => (isOver || isFinishing ? undefined : (protocol.keepAlive ?? sendSilence()))
        }
      })
      .pipe(Effect.mapError(({ reason, retryable }) => new SpeechToTextError({ reason, retryable })))

    const watchStall = (samples: number): void => {
      if (!isSpeaking) return
      if (unanswered === 0) unansweredAt = now()
      unanswered += samples
      if (unanswered > stalledMs * perMs && now() - unansweredAt > stalledMs) {
        failWith(`${server.origin} gave nothing for ${stalledMs / 1000} s of speech`, true)
      }
    }

    return {
      push: (samples) => {
        if (isOver || isFinishing) return
        pushed += samples.length
        chunks.push(samples)
        watchStall(samples.length)
      },
      voiceActivity: (on) => {
        isSpeaking = on
      },
      flush: () => {
        if (isOver || isFinishing) return
        chunks.flush()
        socket?.send(protocol.flush)
      },
      update: (change) => {
        if (isOver || isFinishing) return false
        const fields = protocol.update(change)
        if (fields === undefined) return false
        if (Object.keys(fields).length > 0) socket?.send(JSON.stringify({ type: "Configure", ...fields }))
        return true
      },
      finish: Effect.suspend(() => {
        if (!isOver && !isFinishing) {
          chunks.flush()
          isFinishing = true
          socket?.send(closeStream)
        }
        return Deferred.await(finished)
      })
    }
  })

type SpeechToTextFailure = Pick<SpeechToTextError, "reason" | "retryable">
