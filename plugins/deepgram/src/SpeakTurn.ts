import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Pcm16Reader } from "@svc/providers/Pcm16Reader"
import type { RequestFailed } from "@svc/providers/RequestFailed"
import { textParts } from "@svc/providers/SpeechTurn"
import { type SpeechRequest, type SpeechTurn, TextToSpeechError } from "@svc/providers/TextToSpeech"
import type { ClientSocket } from "@svc/providers/WebSocketClient"
import { Deferred, Effect, type Scope } from "effect"
import { type DeepgramServer, messageOf } from "./DeepgramServer.ts"

/** Characters of a message with text; Deepgram takes 2,000 (docs/tts-troubleshooting-websocket-net-and-data-errors). */
const longestText = 2000
/** `Flush` may be sent 20 times in 60 s (docs/tts-ws-flush); the last ones are kept for the end of the turn. */
const mostFlushes = 18
const flushWindowMs = 60_000
/** Audio that waits for the sink before the server has to wait. In seconds. */
const mostWaitingSeconds = 5

/** Audio, or how many characters of the turn were spoken before it. */
type Written = Int16Array | { readonly characters: number }

/**
 * A turn over a WebSocket of its own (`/v1/speak`), so that the server keeps the melody over the pieces of a turn, and
 * closing it stops the synthesis. The server speaks what it has at a `Flush`: one is sent with the first text, and the next
 * when that was spoken, so that no text waits and pieces are as long as they can be.
 */
export const open: (
  server: DeepgramServer,
  query: URLSearchParams,
  request: SpeechRequest
) => Effect.Effect<SpeechTurn, TextToSpeechError, Scope.Scope> = Effect.fnUntraced(function* (
  server,
  query,
  { sampleRate, sink }
) {
  const clock = yield* Effect.clock
  const characters = server.host.metrics.counter("characters", {
    description: "Characters sent to text-to-speech, which are charged"
  })
  const done = yield* Deferred.make<void, TextToSpeechError>()
  const changed = Effect.unsafeMakeLatch()
  const waiting: Array<Written> = []
  let waitingSamples = 0
  let isPaused = false
  /** Characters that were said, that were sent, and that each flush covers, in UTF-16 units. */
  let said = 0
  let flushed = 0
  const flushes: Array<number> = []
  let flushTimes: ReadonlyArray<number> = []
  let isEnded = false
  let isOver = false
  const reader = new Pcm16Reader()

  const fail = ({ reason, retryable }: Pick<RequestFailed, "reason" | "retryable">): void => {
    if (isOver) return
    isOver = true
    Deferred.unsafeDone(done, new TextToSpeechError({ reason, retryable }))
  }
  const put = (written: Written): void => {
    waiting.push(written)
    changed.unsafeOpen()
  }
  const onAudio = (bytes: Uint8Array): void => {
    const samples = reader.read(bytes)
    if (samples.length === 0) return
    waitingSamples += samples.length
    put(samples)
    if (isPaused || waitingSamples < mostWaitingSeconds * sampleRate) return
    isPaused = true
    socket.pause()
  }
  const onFlushed = (): void => {
    const spoken = flushes.shift()
    if (spoken === undefined) return
    if (reader.isWhole) {
      put({ characters: spoken })
      flushIfDue()
    } else fail({ reason: "the audio ended in the middle of a sample", retryable: true })
  }
  const onMessage = (message: string | Uint8Array): void => {
    if (isOver) return
    if (typeof message !== "string") {
      onAudio(message)
      return
    }
    const shown = server.failures.shown(message)
    switch (messageOf(message).type) {
      case "Flushed":
        onFlushed()
        return
      case "Warning":
        server.host.log.warning(`Deepgram warns: ${shown}`)
        return
      case "Error":
        fail({ reason: `${server.origin} failed: ${shown}`, retryable: true })
        return
    }
  }
  const socket: ClientSocket = yield* server
    .connect("/v1/speak", query, { onMessage, onClosed: ({ failure }) => fail(failure) })
    .pipe(Effect.mapError(({ reason, retryable }) => new TextToSpeechError({ reason, retryable })))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isOver = true
    })
  )

  const flushIfDue = (): void => {
    if (flushed === said || (flushes.length > 0 && !isEnded)) return
    const now = monotonicMillis(clock)
    flushTimes = flushTimes.filter((time) => now - time < flushWindowMs)
    if (flushTimes.length >= mostFlushes && !isEnded) return
    flushTimes = [...flushTimes, now]
    flushed = said
    flushes.push(said)
    socket.send(JSON.stringify({ type: "Flush" }))
  }
  const write = Effect.gen(function* () {
    let samples = 0
    while (!isOver) {
      const next = waiting.shift()
      if (next === undefined) {
        if (isEnded && flushed === said && flushes.length === 0) return yield* Deferred.succeed(done, undefined)
        changed.unsafeClose()
        yield* changed.await
      } else if (next instanceof Int16Array) {
        samples += next.length
        waitingSamples -= next.length
        if (!sink.write(next)) yield* sink.drained
        if (isPaused && waitingSamples < (mostWaitingSeconds * sampleRate) / 2) {
          isPaused = false
          socket.resume()
        }
      } else if (samples > 0) sink.align(next.characters, samples)
    }
    // It failed: `done` has the reason.
    return yield* Effect.never
  })
  yield* Effect.forkScoped(write)

  return {
    say: (text) => {
      if (isOver || isEnded) return
      said += text.length
      characters.add(text.length)
      if (text.trim() === "") {
        // There is nothing to speak: it belongs to what was flushed.
        if (flushed === said - text.length) flushed = said
      } else for (const part of textParts(text.toWellFormed(), longestText)) socket.send(speakMessage(part))
      flushIfDue()
    },
    end: () => {
      if (isOver || isEnded) return
      isEnded = true
      flushIfDue()
      changed.unsafeOpen()
    },
    done: Deferred.await(done)
  }
})

const speakMessage = (text: string) => JSON.stringify({ type: "Speak", text })
