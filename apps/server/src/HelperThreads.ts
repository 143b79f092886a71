import { readdirSync } from "node:fs"
import { constants, getPriority, setPriority } from "node:os"
import { Effect } from "effect"

/** The priority of helper threads relative to the main thread, and the lowest one (setpriority(2)). */
const belowMain = constants.priority.PRIORITY_BELOW_NORMAL
const lowest = constants.priority.PRIORITY_LOW

const hasEnded = (error: unknown) => error instanceof Error && error.message.includes("ESRCH")

const lower = (thread: number, priority: number): void => {
  try {
    setPriority(thread, priority)
  } catch (error) {
    // The thread has ended since it was listed.
    if (!hasEnded(error)) throw error
  }
}

/**
 * Lowers the priority of the helper threads (garbage collection, files, name lookup) below that of the main thread. The
 * main thread sends a frame of every call each 20 ms, and while memory is collected there are more of them than cores:
 * with 200 calls on two cores frames were up to 100 ms late. On Linux, where each thread has a priority of its own; on
 * other systems, and without the permission, nothing changes. Must run in the main thread.
 */
export const yieldToMainThread: Effect.Effect<void> = Effect.try(() => {
  if (process.platform !== "linux") return
  const priority = Math.min(getPriority() + belowMain, lowest)
  for (const name of readdirSync("/proc/self/task")) {
    if (Number(name) !== process.pid) lower(Number(name), priority)
  }
}).pipe(
  Effect.catchAll(({ error }) =>
    Effect.logWarning("The priorities of threads could not be set: frames may be late under load", error)
  )
)
