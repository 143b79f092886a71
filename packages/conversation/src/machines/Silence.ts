import { type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import { isAllowed } from "../Floor.ts"
import { isRunning } from "../State.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"

/**
 * `silence_prompts`: what the agent says when the caller is silent while the agent waits.
 *
 * | the timer | when |
 * |---|---|
 * | starts | the agent begins to wait for the caller, and fewer than `max` prompts were said in this silence |
 * | stops | the agent waits no more |
 * | fires | the text is said or, without one, the model is asked to go on |
 *
 * A silence ends with sound or a key of the caller.
 */

const timer = "silence_prompt"

/** Called at the end of every step. */
export const watch = (d: Draft): void => {
  const { config, prompts_said } = d.state
  const prompts = config?.silence_prompts ?? null
  if (prompts === null) return
  if (!isAllowed(d.state, "count inactivity")) stopTimer(d, timer)
  else if (!isRunning(d.state, timer) && prompts_said < prompts.max) startTimer(d, timer, prompts.after_seconds * 1000)
}

export const onTimer = (d: Draft): void => {
  const { config, prompts_said } = d.state
  const prompts = config?.silence_prompts ?? null
  if (prompts === null) return
  patch(d, { prompts_said: prompts_said + 1 })
  if (prompts.say !== null) Speech.announce(d, prompts.say)
  else {
    patch(d, { rounds: 0 })
    Model.respond(d, { silent_seconds: prompts.after_seconds })
  }
}

/** The caller made a sound or pressed a key. */
export const over = (d: Draft): void => {
  if (d.state.prompts_said > 0) patch(d, { prompts_said: 0 })
}
