import { AudioChunks } from "@svc/providers/AudioChunks"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import type { RequestFailed } from "@svc/providers/RequestFailed"
import {
  type SpeechEvent,
  SpeechToTextError,
  type SpeechToTextOptions,
  type SpeechToTextSession
} from "@svc/providers/SpeechToText"
import { Deferred, Duration, Effect, type Scope } from "effect"
import { failureOf, isFatal, type RealtimeConnection, type RealtimeServer } from "./RealtimeConnection.ts"
import { type Problem, type RealtimeEvent, tokensOf } from "./RealtimeEvents.ts"
import { appendAudio, commitAudio, mulawRate, pcmRate } from "./RealtimeRequest.ts"
import { RealtimeTranscript } from "./RealtimeTranscript.ts"
import * as RenewedConnection from "./RenewedConnection.ts"
import { SpeechCuts } from "./SpeechCuts.ts"

/** The length of a message with audio. */
const chunkMs = 40
/** How long a commit may have no answer. */
const answerMs = 6000
/** How long the last words may take: less than the engine waits. */
const finishWait = Duration.seconds(4)

const metricsOf = ({ host: { metrics } }: RealtimeServer) => {
  const tokens = (kind: string) =>
    metrics.counter("transcription_tokens", {
      description: "Tokens of streaming speech-to-text, as the server counts them",
      tags: { kind }
    })
  return {
    seconds: metrics.counter("audio_seconds", { description: "Seconds of speech sent to streaming speech-to-text" }),
    input: tokens("input"),
    output: tokens("output")
  }
}

/** Sends the audio of a session over a connection, in the format that its server takes. */
const audioOf = ({ encoding, send }: RealtimeConnection, sampleRate: number, { host }: RealtimeServer) => {
  const wireRate = encoding === "mulaw" ? mulawRate : pcmRate
  const resampler = sampleRate === wireRate ? undefined : host.makeResampler(sampleRate, wireRate)
  const chunks = new AudioChunks({
    encoding,
    samples: (chunkMs * wireRate) / 1000,
    send: (chunk) => send(appendAudio(chunk))
  })
  return {
    push: (samples: Int16Array) => chunks.push(resampler?.push(samples) ?? samples),
    commit: (id: string) => {
      chunks.flush()
      send(commitAudio(id))
    }
  }
}

/**
 * A session of speech-to-text over one WebSocket. The engine's voice activity decides what is sent and where it is cut;
 * each stretch of speech becomes a `Final`, in order. It fails when the connection is lost, or a stretch gets no
 * transcript: the engine opens another, and pushes again what is not final.
 */
export const open = (
  server: RealtimeServer,
  asked: SpeechToTextOptions
): Effect.Effect<SpeechToTextSession, SpeechToTextError, Scope.Scope> =>
  Effect.gen(function* () {
    const { callId, sampleRate } = asked
    const { client, host } = server
    const clock = yield* Effect.clock
    const now = () => monotonicMillis(clock)
    const metrics = metricsOf(server)
    const finished = yield* Deferred.make<void>()
    let hints = { language: asked.language, keyterms: asked.keyterms }
    let isOver = false
    let isFinishing = false
    let commits = 0

    const emit = (event: SpeechEvent): void => {
      if (!isOver) asked.onEvent(event)
    }
    const end = (): void => {
      isOver = true
      Deferred.unsafeDone(finished, Effect.void)
    }
    const failWith = ({ reason, retryable }: Pick<RequestFailed, "reason" | "retryable">): void => {
      emit({ _tag: "Failed", error: new SpeechToTextError({ reason, retryable }) })
      end()
    }
    const fail = (what: string): void => failWith({ reason: `${client.baseUrl}/realtime ${what}`, retryable: true })
    yield* Effect.addFinalizer(() => Effect.sync(end))

    const transcript = new RealtimeTranscript(emit)
    const onProblem = (problem: Problem): void => {
      const failure = failureOf(server, problem, clock.unsafeCurrentTimeMillis())
      const isLost = transcript.refused(problem) && problem.code !== "input_audio_buffer_commit_empty"
      if (isLost || isFatal(problem)) failWith(failure)
      else host.log.warning(failure.reason, { call_id: callId })
    }
    const onEvent = (event: RealtimeEvent): void => {
      if (isOver) return
      switch (event.type) {
        case "error":
          onProblem(event.error)
          break
        case "conversation.item.input_audio_transcription.failed":
          fail(`made no transcript: ${client.failures.shown(event.error?.message ?? "it gave no reason")}`)
          return
        case "conversation.item.input_audio_transcription.completed": {
          const { input_tokens, output_tokens } = tokensOf(event.usage)
          metrics.input.add(input_tokens)
          metrics.output.add(output_tokens)
          transcript.read(event, now())
          break
        }
        default:
          transcript.read(event, now())
      }
      if (isFinishing && transcript.isComplete) end()
      if (isIdle()) renewed?.idle()
    }

    let audio: ReturnType<typeof audioOf> | undefined
    const cuts = new SpeechCuts({
      sampleRate,
      send: (samples) => audio?.push(samples),
      cut: (samples, endMs) => {
        const id = `commit_${++commits}`
        audio?.commit(id)
        transcript.commit(id, endMs, now())
        metrics.seconds.add(samples / sampleRate)
      }
    })
    const isIdle = () => cuts.isIdle && transcript.isComplete
    let renewed: RenewedConnection.RenewedConnection | undefined
    const opened = yield* RenewedConnection.open(server, {
      callId,
      sampleRate,
      hints: () => hints,
      isIdle,
      onRenewed: (connection) => {
        audio = audioOf(connection, sampleRate, server)
        transcript.renew()
      },
      onEvent,
      onClosed: failWith
    }).pipe(Effect.mapError(({ reason, retryable }) => new SpeechToTextError({ reason, retryable })))
    renewed = opened
    audio = audioOf(opened.current(), sampleRate, server)

    return {
      push: (samples) => {
        if (isOver || isFinishing) return
        cuts.push(samples)
        const { waitingSince } = transcript
        if (waitingSince !== undefined && now() - waitingSince > answerMs) {
          fail(`did not answer a commit within ${answerMs / 1000} s`)
        }
      },
      voiceActivity: (on) => {
        if (!isOver && !isFinishing) cuts.voiceActivity(on)
      },
      flush: () => {
        if (!isOver && !isFinishing) cuts.cut()
      },
      update: ({ keyterms, language }) => {
        if (isOver || isFinishing) return false
        hints = { language: language ?? hints.language, keyterms: keyterms ?? hints.keyterms }
        opened.current().configure(hints)
        return true
      },
      finish: Effect.suspend(() => {
        if (!isOver && !isFinishing) {
          cuts.cut()
          isFinishing = true
          if (transcript.isComplete) end()
        }
        return Deferred.await(finished)
      }).pipe(
        Effect.timeoutTo({
          duration: finishWait,
          onSuccess: () => {},
          onTimeout: () => fail(`did not answer the last commit within ${Duration.format(finishWait)}`)
        })
      )
    }
  })
