import { type Draft, startTimer, stopTimer } from "../Draft.ts"
import { isAllowed } from "../Floor.ts"
import { isRunning } from "../State.ts"

/**
 * `max_duration` runs from the answer. `inactivity_timeout` runs while the agent waits for the caller: not while either
 * speaks, the model generates, a tool runs, digits are gathered or a transfer is in progress. `silence_prompts` do not
 * restart it.
 */

/** Called at the answer, and when the configuration comes after it. */
export const startMaxDuration = (d: Draft): void => {
  const { answered_at, config, facts } = d.state
  const limit = (config?.max_duration ?? facts.agent.max_duration) * 1000
  startTimer(d, "max_duration", Math.max(0, limit - (d.at - (answered_at ?? d.at))))
}

/** Starts or stops the inactivity timer according to the floor; called at the end of every step. */
export const watchInactivity = (d: Draft): void => {
  const limit = d.state.config?.inactivity_timeout ?? null
  if (limit === null) return
  const running = isRunning(d.state, "inactivity")
  if (isAllowed(d.state, "count inactivity")) {
    if (!running) startTimer(d, "inactivity", limit * 1000)
  } else if (running && (d.state.prompts_said === 0 || d.state.caller.speaking)) stopTimer(d, "inactivity")
}

/** Restarts `inactivity_timeout` after activity other than speech: the end of the step starts it again. */
export const restartInactivity = (d: Draft): void => stopTimer(d, "inactivity")
