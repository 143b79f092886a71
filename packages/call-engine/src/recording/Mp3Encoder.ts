import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import type { AudioFormat } from "@svc/providers/Audio"
import { Context, Effect, Layer } from "effect"
import { Ticker } from "../media/Ticker.ts"
import type { Block, FromEncoder, ToEncoder } from "./Mp3Messages.ts"

/** Told synchronously, in order; after `onEnd` or `onFailed` nothing more comes. */
export interface Mp3Listener {
  readonly onBytes: (bytes: Uint8Array) => void
  readonly onEnd: () => void
  readonly onFailed: (reason: string) => void
}

/** A recording that is being encoded: both sides in the leg's format, equally long. Buffers are given away. */
export interface Mp3Stream {
  readonly write: (left: Uint8Array<ArrayBuffer>, right: Uint8Array<ArrayBuffer>) => void
  readonly end: (left: Uint8Array<ArrayBuffer>, right: Uint8Array<ArrayBuffer>) => void
  /** Gives it up; the listener is not told. */
  readonly cancel: () => void
}

/** The part of a worker thread that is used. */
export interface EncoderThread {
  readonly postMessage: (message: ToEncoder, transfer: ReadonlyArray<ArrayBuffer>) => void
  readonly onMessage: (handler: (message: FromEncoder) => void) => void
  /** It died, by a fault or otherwise. */
  readonly onGone: (handler: (reason: string) => void) => void
  readonly terminate: () => void
}

/** Blocks that may wait for the encoder before a recording is given up. */
const maxWaiting = 30
/** A thread that owes answers and has given none for so many milliseconds hangs. */
const hungAfter = 20_000
/** After the death of one, so many milliseconds pass before another thread is started. */
const restartAfter = 5_000

interface Open {
  readonly listener: Mp3Listener
  waiting: number
}

/**
 * MP3 by one thread for all recordings of the process, started by the first. Nobody ever waits for it: a recording whose
 * blocks pile up fails, all fail when the thread dies, and the next ones get a new thread.
 */
export class Mp3Encoder extends Context.Tag("@svc/call-engine/Mp3Encoder")<
  Mp3Encoder,
  {
    /** Synchronous, and so are the stream's methods. A thread that cannot be had fails the stream at once. */
    readonly open: (format: AudioFormat, listener: Mp3Listener) => Mp3Stream
  }
>() {
  static readonly layer: Layer.Layer<Mp3Encoder, never, Ticker> = Layer.suspend(() => layerOf(startThread))
}

/** With threads that are started by `start`. */
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
  const streams = new Map<number, Open>()
  let thread: EncoderThread | undefined
  let diedAt = Number.NEGATIVE_INFINITY
  let answeredAt = 0
  /** Blocks that the thread has not answered. */
  let owed = 0
  let ids = 0
  let batch: Array<Block> = []

  const lose = (gone: EncoderThread, reason: string): void => {
    if (thread !== gone) return
    thread = undefined
    diedAt = now()
    batch = []
    owed = 0
    const lost = [...streams.values()]
    streams.clear()
    gone.terminate()
    for (const { listener } of lost) listener.onFailed(reason)
  }

  const onMessage = (message: FromEncoder): void => {
    answeredAt = now()
    const stream = streams.get(message.id)
    if (stream === undefined) return
    stream.waiting--
    owed--
    if (message._tag === "Failed" || message.last) drop(message.id, stream)
    if (message._tag === "Failed") {
      stream.listener.onFailed(message.reason)
      return
    }
    if (message.bytes.length > 0) stream.listener.onBytes(message.bytes)
    if (message.last) stream.listener.onEnd()
  }

  /** The thread that runs, or a new one; undefined right after a death. */
  const running = (): EncoderThread | undefined => {
    if (thread !== undefined || now() - diedAt < restartAfter) return thread
    const started = start()
    started.onMessage((message) => {
      if (thread === started) onMessage(message)
    })
    started.onGone((reason) => lose(started, reason))
    thread = started
    return started
  }

  /** What was written in one go leaves in one message. */
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
    // Whoever owed nothing until now is timed from now on.
    if (owed === 0) answeredAt = now()
    stream.waiting++
    owed++
    if (thread !== undefined && now() - answeredAt > hungAfter) {
      lose(thread, "the encoder hangs")
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

  const drop = (id: number, { waiting }: Open): void => {
    streams.delete(id)
    owed -= waiting
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
      queueMicrotask(() => listener.onFailed("the encoder died a moment ago"))
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

/**
 * The thread's program. In a checkout it is TypeScript, and the loader that the process itself runs by does not reach into
 * threads, so the thread registers it first.
 */
const program = (): readonly [program: string | URL, options: { readonly eval: boolean }] => {
  if (!import.meta.url.endsWith(".ts")) return [new URL("./Mp3Worker.js", import.meta.url), { eval: false }]
  const worker = new URL("./Mp3Worker.ts", import.meta.url)
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx"))
  const api = new URL("./esm/api/index.mjs", loader)
  const text = `import(${JSON.stringify(api)}).then((tsx) => { tsx.register(); return import(${JSON.stringify(worker)}) })`
  return [text, { eval: true }]
}

const startThread = (): EncoderThread => {
  const worker = new Worker(...program())
  // It ends with the process, and does not keep it.
  worker.unref()
  return {
    postMessage: (message, transfer) => worker.postMessage(message, [...transfer]),
    onMessage: (handler) => void worker.on("message", handler),
    onGone: (handler) => {
      worker.on("error", (error) => handler(`the encoder failed: ${error.message}`))
      worker.on("exit", (code) => handler(`the encoder ended with code ${code}`))
    },
    terminate: () => void worker.terminate()
  }
}
