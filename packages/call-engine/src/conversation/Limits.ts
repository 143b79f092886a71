import * as Speech from "./Speech.ts"
import { type Draft, startTimer, stopTimer } from "./State.ts"

/**
 * `max_duration` runs from the answer. `inactivity_timeout` runs while the agent waits for the caller: not while either
 * speaks, the model thinks or a tool runs.
 */

export const onAnswered = (d: Draft): void => startTimer(d, "max_duration", (d.state.config?.max_duration ?? 0) * 1000)

const isIdle = (d: Draft): boolean =>
  d.state.phase === "live" &&
  !d.state.caller.speaking &&
  d.state.model === null &&
  !d.state.owed &&
  d.state.interruption === null &&
  !Speech.isSpeaking(d.state)

/** Starts or stops the inactivity timer as the state asks; called at the end of every step. */
export const watchInactivity = (d: Draft): void => {
  const limit = d.state.config?.inactivity_timeout ?? null
  if (limit === null) return
  const running = d.state.timers.has("inactivity")
  if (isIdle(d)) {
    if (!running) startTimer(d, "inactivity", limit * 1000)
  } else if (running) stopTimer(d, "inactivity")
}

/** The caller did something that is not speech: the time starts anew. */
export const noteActivity = (d: Draft): void => stopTimer(d, "inactivity")
