import { Effect } from "effect"
import { eventually } from "./Inbox.ts"

/** Whether a process with this id exists. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user is alive too.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Waits until a process that is not our child has ended. */
export const gone = (pid: number): Effect.Effect<void> =>
  Effect.asVoid(
    eventually(
      `the end of process ${pid}`,
      Effect.sync(() => isAlive(pid)),
      (alive) => !alive
    )
  )
