import { readdirSync } from "node:fs"
import { constants, getPriority, setPriority } from "node:os"
import { Effect, Either } from "effect"

/** How much nicer than the main thread the others are (setpriority(2)). */
const yielding = constants.priority.PRIORITY_BELOW_NORMAL
const nicest = constants.priority.PRIORITY_LOW

/**
 * From now on the threads that help the main one (garbage collection above all, files, names) wait when both want a core.
 * The main thread sends a frame of every call each 20 ms, and while memory is collected there are more of them than cores:
 * with 200 calls on two cores frames were up to 100 ms late. Gives how many threads there are.
 *
 * On Linux, where each thread has a priority of its own; elsewhere nothing changes. Must run in the main thread.
 */
export const yieldToMainThread: Effect.Effect<number> = Effect.gen(function* () {
  if (process.platform !== "linux") return 0
  const priority = Math.min(getPriority() + yielding, nicest)
  const others = readdirSync("/proc/self/task").flatMap((name) => (Number(name) === process.pid ? [] : [Number(name)]))
  // One may have ended since.
  return others.filter((thread) => Either.isRight(Either.try(() => setPriority(thread, priority)))).length
}).pipe(
  Effect.catchAllDefect((defect) =>
    Effect.as(Effect.logWarning("The priorities of threads could not be set: frames may be late under load", defect), 0)
  )
)
