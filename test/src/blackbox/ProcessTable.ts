import { Effect } from "effect"
import { eventually } from "./Inbox.ts"

/** Whether a process of this id is there. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's is alive as well.
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Waits until a process that is not our child is gone. */
export const gone = (pid: number): Effect.Effect<void> =>
  Effect.asVoid(
    eventually(
      `the end of process ${pid}`,
      Effect.sync(() => isAlive(pid)),
      (alive) => !alive
    )
  )
