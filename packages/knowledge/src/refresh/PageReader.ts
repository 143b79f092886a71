import type { Worker } from "node:worker_threads"
import { startWorkerThread } from "@svc/cluster/WorkerThread"
import { Context, Data, type Duration, Effect, Layer } from "effect"
import type { Answer, Job } from "./ReaderMessages.ts"
import { shownPage } from "./SourceFaults.ts"

/** A job broke the thread: it took too long, or too much memory. The reason is the end of a sentence about the URL. */
export class ReaderFailed extends Data.TaggedError("ReaderFailed")<{ readonly reason: string }> {}

/** What people read of an error of the reader; the error itself is logged. */
const readerError = "cannot be read, because Svc had an error. The operator of this server finds it in the log"

/** How long a job may take. */
const timeout = "5 seconds"
/** How long a thread may take to load its program, on a busy machine. */
const startTimeout = "30 seconds"
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/** A thread, and who waits for its next message. */
interface Thread {
  readonly worker: Worker
  settle: ((message: Effect.Effect<Answer, ReaderFailed>) => void) | undefined
}

/**
 * Reads pages, sitemaps and robots.txt files in a thread with limits of time and memory: what other servers send may be
 * made to use up both. One thread for the process, which the first job starts; jobs wait for each other.
 */
export class PageReader extends Context.Tag("@svc/knowledge/PageReader")<
  PageReader,
  { readonly run: (job: Job) => Effect.Effect<Answer, ReaderFailed> }
>() {
  static readonly layer: Layer.Layer<PageReader> = Layer.scoped(
    PageReader,
    Effect.gen(function* () {
      const turn = yield* Effect.makeSemaphore(1)
      let thread: Thread | undefined
      const end = Effect.sync(() => {
        const ended = thread
        thread = undefined
        if (ended === undefined) return
        ended.settle = undefined
        void ended.worker.terminate()
      })
      yield* Effect.addFinalizer(() => end)

      /** The next message of a thread. */
      const next = (of: Thread, limit: Duration.DurationInput, begin: () => void) =>
        Effect.async<Answer, ReaderFailed>((resume) => {
          of.settle = resume
          begin()
        }).pipe(
          Effect.timeoutFail({
            duration: limit,
            onTimeout: () => new ReaderFailed({ reason: `takes longer than ${limit} to read` })
          })
        )

      const started = Effect.gen(function* () {
        if (thread !== undefined) return thread
        const made: Thread = {
          worker: startWorkerThread(import.meta.url, "./ReaderThread", { resourceLimits }),
          settle: undefined
        }
        thread = made
        const { worker } = made
        worker.on("message", (answer: Answer) => made.settle?.(Effect.succeed(answer)))
        worker.on("error", (error: Error & { readonly code?: string }) => {
          const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY"
          const failure = new ReaderFailed({ reason: isMemory ? "takes too much memory to read" : readerError })
          const log = isMemory ? Effect.void : Effect.logWarning("The thread that reads pages failed", error)
          made.settle?.(Effect.zipRight(log, failure))
        })
        worker.on("exit", () =>
          made.settle?.(
            Effect.fail(new ReaderFailed({ reason: "cannot be read, because its reader ended. Refresh again" }))
          )
        )
        yield* next(made, startTimeout, () => undefined)
        return made
      })

      return {
        run: (job) =>
          Effect.flatMap(started, (ready) => next(ready, timeout, () => ready.worker.postMessage(job))).pipe(
            // Also when the refresh is interrupted: the answer would be taken for that of the next job.
            Effect.onExit((exit) => (exit._tag === "Success" ? Effect.void : end)),
            turn.withPermits(1),
            Effect.flatMap((answer): Effect.Effect<Answer> => {
              if (answer._tag !== "Failed") return Effect.succeed(answer)
              const refused: Answer = { _tag: "Refused", reason: readerError }
              return Effect.as(Effect.logWarning(`${shownPage(job.url)} could not be read`, answer.error), refused)
            })
          )
      }
    })
  )
}
