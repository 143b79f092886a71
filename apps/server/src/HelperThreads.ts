import { readdirSync } from "node:fs"
import { constants, getPriority, setPriority } from "node:os"
import { Effect } from "effect"

/** How much nicer than the main thread the others are (setpriority(2)). */
const yielding = constants.priority.PRIORITY_BELOW_NORMAL
const nicest = constants.priority.PRIORITY_LOW

const isGone = (error: unknown) => error instanceof Error && error.message.includes("ESRCH")

const lower = (thread: number, priority: number): void => {
  try {
    setPriority(thread, priority)
  } catch (error) {
    // It has ended since it was seen.
    if (!isGone(error)) throw error
  }
}

/**
 * Lowers the priority of the helper threads (garbage collection, files, name lookup) below that of the main thread.
 * The main thread sends a frame of every call each 20 ms, and while memory is collected there are more of them than cores:
 * with 200 calls on two cores frames were up to 100 ms late. On Linux, where each thread has a priority of its own;
 * on other systems, and without the permission, nothing changes. Must run in the main thread.
 */
export const yieldToMainThread: Effect.Effect<void> = Effect.try(() => {
  if (process.platform !== "linux") return
  const priority = Math.min(getPriority() + yielding, nicest)
  for (const name of readdirSync("/proc/self/task")) {
    if (Number(name) !== process.pid) lower(Number(name), priority)
  }
}).pipe(
  Effect.catchAll(({ error }) =>
    Effect.logWarning("The priorities of threads could not be set: frames may be late under load", error)
  )
)
