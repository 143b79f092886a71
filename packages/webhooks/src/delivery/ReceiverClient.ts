import { startWorkerThread } from "@svc/cluster/WorkerThread"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { type Clock, Context, Effect, FiberSet, Layer } from "effect"
import type { DeliveryRequest } from "./DeliveryRequest.ts"
import { type AttemptResult, type Post, timedOut } from "./ReceiverRequests.ts"
import type { FromThread, ThreadSettings, ToThread } from "./ReceiverThread.ts"

/** The part of a worker thread that the client uses. */
export interface RequestThread {
  readonly postMessage: (message: ToThread) => void
  readonly onMessage: (handler: (message: FromThread) => void) => void
  /** Called when the thread failed or ended, with the error if there was one. */
  readonly onExit: (handler: (error?: Error) => void) => void
  readonly terminate: () => void
}

/** The result of a request whose thread failed, which is logged. */
export const threadFailed: AttemptResult = {
  status_code: null,
  error: "the request was not completed, because Svc had an error. The operator of this server finds it in the log"
}

/** Characters of bodies that are passed to the thread in one message. */
const maxBatch = 65_536
/** How long the thread may take to answer a cancellation before it counts as hung. */
const hungAfter = "2 seconds"
/** How long results are passed on before other work of the process has its turn, in nanoseconds. */
const turn = 1_000_000n

/**
 * HTTP client for requests to receivers, in a thread of its own, which the first request starts. It does not follow
 * redirects; addresses of private networks are refused when a connection is made.
 */
export class ReceiverClient extends Context.Tag("@svc/webhooks/ReceiverClient")<
  ReceiverClient,
  {
    /**
     * Sends a request and calls `done` once, later, with its result. The caller measures the time: the returned
     * function cancels the request, and `done` then gets the status, if one has arrived, or {@link timedOut}. When the
     * thread ends, `done` gets {@link threadFailed}, and the next request starts another.
     */
    readonly post: Post
  }
>() {
  static readonly layer: Layer.Layer<ReceiverClient, never, UrlSafety> = Layer.suspend(() => layerOf(startThread))
}

/** A client whose threads are started by `start`. */
export const layerOf = (
  start: (settings: ThreadSettings) => RequestThread
): Layer.Layer<ReceiverClient, never, UrlSafety> =>
  Layer.scoped(
    ReceiverClient,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const run = yield* FiberSet.makeRuntime<never>()
      const client = new ThreadClient({
        start: () => start({ policy: safety.policy }),
        resolve: safety.resolve,
        clock: yield* Effect.clock,
        log: (problem, error) =>
          void run(Effect.logError(`${problem}; its requests failed`, ...(error === undefined ? [] : [error]))),
        later: (check) => void run(Effect.delay(Effect.sync(check), hungAfter))
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => client.close()))
      return { post: client.post }
    })
  )

interface ClientOptions {
  readonly start: () => RequestThread
  readonly resolve: Context.Tag.Service<UrlSafety>["resolve"]
  readonly clock: Clock.Clock
  readonly log: (problem: string, error?: Error) => void
  /** Runs a check of a cancelled request after {@link hungAfter}. */
  readonly later: (check: () => void) => void
}

class ThreadClient {
  readonly #options: ClientOptions
  readonly #pending = new Map<number, (result: AttemptResult) => void>()
  #thread: RequestThread | undefined
  #nextId = 0
  #batch: Array<readonly [number, DeliveryRequest]> = []
  #batchSize = 0
  #results: Array<readonly [number, AttemptResult]> = []

  constructor(options: ClientOptions) {
    this.#options = options
  }

  readonly post: Post = (request, done) => {
    const id = this.#nextId++
    this.#pending.set(id, done)
    if (this.#batch.length === 0) queueMicrotask(() => this.#flush())
    this.#batch.push([id, request])
    this.#batchSize += request.body.length
    if (this.#batchSize >= maxBatch) this.#flush()
    return () => this.#cancel(id)
  }

  close(): void {
    const thread = this.#thread
    this.#thread = undefined
    this.#pending.clear()
    thread?.terminate()
  }

  #flush(): void {
    const requests = this.#batch
    if (requests.length === 0) return
    this.#batch = []
    this.#batchSize = 0
    this.#running().postMessage({ _tag: "Post", requests })
  }

  #running(): RequestThread {
    if (this.#thread !== undefined) return this.#thread
    const started = this.#options.start()
    this.#thread = started
    started.onMessage((message) => {
      if (this.#thread === started) this.#receive(started, message)
    })
    started.onExit((error) => this.#end(started, "The thread that sends deliveries ended", error))
    return started
  }

  #receive(thread: RequestThread, message: FromThread): void {
    if (message._tag === "Results") {
      const isIdle = this.#results.length === 0
      for (const one of message.results) this.#results.push(one)
      if (isIdle) this.#deliver()
      return
    }
    const { hostname, id } = message
    this.#options.resolve(hostname, (error, addresses) => {
      const plain = error === null ? null : { message: error.message, code: "code" in error ? error.code : undefined }
      if (this.#thread === thread) thread.postMessage({ _tag: "Resolved", id, error: plain, addresses })
    })
  }

  /** In turns: receivers may hold thousands of requests, and answer all at once. */
  #deliver(): void {
    const { clock } = this.#options
    const from = clock.unsafeCurrentTimeNanos()
    let next = 0
    for (const [id, result] of this.#results) {
      if (next > 0 && clock.unsafeCurrentTimeNanos() - from >= turn) break
      next++
      this.#complete(id, result)
    }
    this.#results = this.#results.slice(next)
    if (this.#results.length > 0) setImmediate(() => this.#deliver())
  }

  #complete(id: number, result: AttemptResult): void {
    const done = this.#pending.get(id)
    this.#pending.delete(id)
    done?.(result)
  }

  #cancel(id: number): void {
    if (!this.#pending.has(id)) return
    this.#flush()
    const thread = this.#running()
    thread.postMessage({ _tag: "Cancel", id })
    this.#options.later(() => {
      if (this.#pending.has(id)) this.#end(thread, "The thread that sends deliveries does not answer")
    })
  }

  #end(thread: RequestThread, problem: string, error?: Error): void {
    if (this.#thread !== thread) return
    this.#options.log(problem, error)
    this.#thread = undefined
    thread.terminate()
    for (const [id, result] of this.#results.splice(0)) this.#complete(id, result)
    const unsent = new Set(this.#batch.map(([id]) => id))
    for (const id of [...this.#pending.keys()]) {
      if (!unsent.has(id)) this.#complete(id, threadFailed)
    }
  }
}

const startThread = (settings: ThreadSettings): RequestThread => {
  const worker = startWorkerThread(import.meta.url, "./ReceiverThread", { workerData: settings })
  return {
    postMessage: (message) => worker.postMessage(message),
    onMessage: (handler) => void worker.on("message", handler),
    onExit: (handler) => {
      worker.on("error", handler)
      worker.on("exit", () => handler())
    },
    terminate: () => void worker.terminate()
  }
}
