import { startWorkerThread } from "@svc/cluster/WorkerThread"
import type { AudioFormat } from "@svc/providers/Audio"
import { Context, Effect, Layer } from "effect"
import { Ticker } from "../media/Ticker.ts"
import type { Block, FromEncoder, ToEncoder } from "./Mp3Messages.ts"

/** Called synchronously, in order; `onEnd` or `onFailed` is the last call. */
export interface Mp3Listener {
  readonly onBytes: (bytes: Uint8Array) => void
  readonly onEnd: () => void
  readonly onFailed: (reason: string) => void
}

/** A recording that is being encoded: both sides in the leg's format, equally long. Buffers are transferred. */
export interface Mp3Stream {
  readonly write: (left: Uint8Array<ArrayBuffer>, right: Uint8Array<ArrayBuffer>) => void
  readonly end: (left: Uint8Array<ArrayBuffer>, right: Uint8Array<ArrayBuffer>) => void
  /** Abandons the recording without calling the listener. */
  readonly cancel: () => void
}

/** The part of a worker thread that the encoder uses. */
export interface EncoderThread {
  readonly postMessage: (message: ToEncoder, transfer: ReadonlyArray<ArrayBuffer>) => void
  readonly onMessage: (handler: (message: FromEncoder) => void) => void
  /** Called when the thread failed or ended. */
  readonly onExit: (handler: (reason: string) => void) => void
  readonly terminate: () => void
}

/** Blocks of one recording that may wait for the thread before the recording fails. */
const maxWaiting = 30
/** A thread with unanswered blocks that answers nothing for this long, in milliseconds, counts as hung. */
const hungAfter = 20_000
/** Milliseconds between the end of a thread and the start of another. */
const restartAfter = 5_000

interface OpenStream {
  readonly listener: Mp3Listener
  waiting: number
}

/**
 * Encodes MP3 in one thread for all recordings of the process, which the first recording starts. Nothing ever waits for
 * it: a recording fails when too many of its blocks are queued, all recordings fail when the thread ends, and later
 * ones get a new thread.
 */
export class Mp3Encoder extends Context.Tag("@svc/call-engine/Mp3Encoder")<
  Mp3Encoder,
  {
    /** Synchronous, as are the stream's methods. Without a thread the stream fails at once. */
    readonly open: (format: AudioFormat, listener: Mp3Listener) => Mp3Stream
  }
>() {
  static readonly layer: Layer.Layer<Mp3Encoder, never, Ticker> = Layer.suspend(() => layerOf(startThread))
}

/** An encoder whose threads are started by `start`. */
export const layerOf = (start: () => EncoderThread): Layer.Layer<Mp3Encoder, never, Ticker> =>
  Layer.scoped(
    Mp3Encoder,
    Effect.gen(function* () {
      const { now } = yield* Ticker
      const pool = make(start, now)
      yield* Effect.addFinalizer(() => Effect.sync(pool.close))
      return { open: pool.open }
    })
  )

const make = (start: () => EncoderThread, now: () => number) => {
  const streams = new Map<number, OpenStream>()
  let thread: EncoderThread | undefined
  let endedAt = Number.NEGATIVE_INFINITY
  let answeredAt = 0
  /** Blocks that the thread has not answered. */
  let unanswered = 0
  let ids = 0
  let batch: Array<Block> = []

  const onThreadEnd = (ended: EncoderThread, reason: string): void => {
    if (thread !== ended) return
    thread = undefined
    endedAt = now()
    batch = []
    unanswered = 0
    const failed = [...streams.values()]
    streams.clear()
    ended.terminate()
    for (const { listener } of failed) listener.onFailed(reason)
  }

  const onMessage = (message: FromEncoder): void => {
    answeredAt = now()
    const stream = streams.get(message.id)
    if (stream === undefined) return
    stream.waiting--
    unanswered--
    if (message._tag === "Failed" || message.last) drop(message.id, stream)
    if (message._tag === "Failed") {
      stream.listener.onFailed(message.reason)
      return
    }
    if (message.bytes.length > 0) stream.listener.onBytes(message.bytes)
    if (message.last) stream.listener.onEnd()
  }

  /** The running thread or a new one; undefined right after one ended. */
  const running = (): EncoderThread | undefined => {
    if (thread !== undefined || now() - endedAt < restartAfter) return thread
    const started = start()
    started.onMessage((message) => {
      if (thread === started) onMessage(message)
    })
    started.onExit((reason) => onThreadEnd(started, reason))
    thread = started
    return started
  }

  /** Blocks written in the same turn of the event loop are posted in one message. */
  const post = (): void => {
    const blocks = batch
    batch = []
    if (blocks.length === 0) return
    const transfer = blocks.flatMap(({ left, right }) => [left.buffer, right.buffer])
    thread?.postMessage({ _tag: "Encode", blocks }, transfer)
  }

  const put = (block: Block): void => {
    const stream = streams.get(block.id)
    if (stream === undefined) return
    // The thread was idle until now, so its time limit starts now.
    if (unanswered === 0) answeredAt = now()
    stream.waiting++
    unanswered++
    if (thread !== undefined && now() - answeredAt > hungAfter) {
      onThreadEnd(thread, "the encoder hangs")
      return
    }
    if (stream.waiting > maxWaiting) {
      forget(block.id)
      stream.listener.onFailed("the encoder is too slow")
      return
    }
    if (batch.length === 0) queueMicrotask(post)
    batch.push(block)
  }

  const drop = (id: number, { waiting }: OpenStream): void => {
    streams.delete(id)
    unanswered -= waiting
  }

  const forget = (id: number): void => {
    const stream = streams.get(id)
    if (stream === undefined) return
    drop(id, stream)
    batch = batch.filter((block) => block.id !== id)
    thread?.postMessage({ _tag: "Forget", id }, [])
  }

  const open = (format: AudioFormat, listener: Mp3Listener): Mp3Stream => {
    const id = ids++
    if (running() === undefined) {
      queueMicrotask(() => listener.onFailed("the encoder has just failed and is not restarted yet"))
      return { write: () => undefined, end: () => undefined, cancel: () => undefined }
    }
    streams.set(id, { listener, waiting: 0 })
    return {
      write: (left, right) => put({ id, format, left, right, last: false }),
      end: (left, right) => put({ id, format, left, right, last: true }),
      cancel: () => forget(id)
    }
  }

  const close = (): void => {
    const last = thread
    thread = undefined
    streams.clear()
    last?.terminate()
  }

  return { open, close }
}

const startThread = (): EncoderThread => {
  const worker = startWorkerThread(import.meta.url, "./Mp3Worker")
  return {
    postMessage: (message, transfer) => worker.postMessage(message, [...transfer]),
    onMessage: (handler) => void worker.on("message", handler),
    onExit: (handler) => {
      worker.on("error", (error) => handler(`the encoder failed: ${error.message}`))
      worker.on("exit", (code) => handler(`the encoder ended with code ${code}`))
    },
    terminate: () => void worker.terminate()
  }
}
