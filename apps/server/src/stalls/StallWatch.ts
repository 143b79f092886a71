import { url as inspectorUrl } from "node:inspector"
import { startWorkerThread } from "@svc/cluster/WorkerThread"
import { PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { Effect, Runtime } from "effect"

/** A function on the stack of the main thread. Line and column are from 1. */
export interface StallFrame {
  readonly name: string
  readonly url: string
  readonly line: number
  readonly column: number
}

/** What the watching thread reports when the main thread goes on. `frames`: innermost first. */
export interface StallMessage {
  readonly ms: number
  readonly frames: ReadonlyArray<StallFrame>
}

export interface StallThreadData {
  /** One 64-bit integer: when the main thread last ran a timer, in nanoseconds of `process.hrtime`. */
  readonly shared: SharedArrayBuffer
  readonly limits: {
    /** Milliseconds without a beat that count as a stall. */
    readonly stallMs: number
    /** Milliseconds after which the thread itself writes a warning to standard error. */
    readonly warnMs: number
    /** Milliseconds after which it ends the process. */
    readonly endMs: number
  }
}

/** How often the main thread writes that it runs, in milliseconds. An idle server wakes up for that. */
const beatMs = 100

/** 300 ms and half a beat: a stall begins at any time between the last beat and the one that is missing. */
const usual: StallThreadData["limits"] = { stallMs: 350, warnMs: 10_000, endMs: 60_000 }

/** The frames as the stack of an error, from which the plugin is found. */
const stackOf = (frames: ReadonlyArray<StallFrame>): Error => {
  const error = new Error("the thread stood still")
  error.stack = [
    "Error: the thread stood still",
    ...frames.map(({ column, line, name, url }) => `    at ${name || "<anonymous>"} (${url}:${line}:${column})`)
  ].join("\n")
  return error
}

/**
 * Watches the main thread, on which all calls are paced. When it stands still for 300 ms, because a function does not
 * return, the log names the function and, if it is one of a plugin, the plugin, whose health it counts against. When it
 * stands still for a minute, the process ends: other nodes settle its calls, and its supervisor starts it again. Nothing is
 * watched while a debugger is attached.
 */
export const watchStalls = Effect.fnUntraced(function* (limits: StallThreadData["limits"] = usual) {
  if (inspectorUrl() !== undefined) return
  const faults = yield* PluginFaults
  const clock = yield* Effect.clock
  const run = Runtime.runFork(yield* Effect.runtime<never>())
  const shared = new SharedArrayBuffer(8)
  const beats = new BigInt64Array(shared)
  const beat = (): void => void Atomics.store(beats, 0, process.hrtime.bigint())

  const onStall = ({ frames, ms }: StallMessage): void => {
    const [innermost] = frames
    if (innermost === undefined) return
    const place = `${innermost.name || "a function"} at ${innermost.url}:${innermost.line}`
    const origin = faults.owners.originOf(stackOf(frames))
    if (origin._tag !== "Plugin") {
      run(Effect.logDebug(`The main thread stood still for ${ms} ms in ${place}`))
      return
    }
    faults.record(origin.plugin, clock.unsafeCurrentTimeMillis(), "stall")
    run(
      Effect.logError(
        `plugin ${origin.plugin}: ${place} held the thread for ${ms} ms; no call of this server was heard meanwhile`
      )
    )
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => {
      beat()
      const timer = setInterval(beat, beatMs)
      timer.unref()
      const worker = startWorkerThread(import.meta.url, "./StallThread", {
        workerData: { shared, limits } satisfies StallThreadData
      })
      worker.on("message", onStall)
      worker.on("error", (cause) => run(Effect.logWarning("Stalls of the main thread are not watched any more", cause)))
      return { timer, worker }
    }),
    ({ timer, worker }) =>
      Effect.promise(() => {
        clearInterval(timer)
        return worker.terminate()
      })
  )
})
