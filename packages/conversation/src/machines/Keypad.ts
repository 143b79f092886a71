import { command, type Draft, emit, ids } from "../Draft.ts"
import * as Gather from "./Gather.ts"
import * as Limits from "./Limits.ts"
import * as Model from "./Model.ts"
import * as Silence from "./Silence.ts"
import * as Tools from "./Tools.ts"

/** The caller pressed a digit. */
export const onDigit = (d: Draft, digit: string): void => {
  Limits.restartInactivity(d)
  Silence.over(d)
  const action = Gather.isActive(d.state) ? "gather" : (d.state.config?.dtmf_actions[digit] ?? "unmapped")
  emit(d, { event: "call.dtmf.received", data: { ...ids(d), digit, action } })
  deliver(d, Gather.onDigit(d, digit))
}

/** The timeout of the active gather. */
export const onTimer = (d: Draft): void => deliver(d, Gather.onTimer(d))

/** Passes a finished gather to its requester: the tool, or the agent's server for the menu. */
const deliver = (d: Draft, gathered: Gather.Gathered | null): void => {
  if (gathered === null) return
  const { input, requester, status } = gathered
  if (requester.kind === "tool") Tools.run(d, requester.id, { gathered_input: input, gather_status: status })
  if (requester.kind === "menu") {
    const gathered_digit = input === null ? null : input.slice(0, 1)
    command(d, { _tag: "FetchConfig", gathered: { gathered_digit, gathered_input: input, gather_status: status } })
  }
  Model.continueAfterTools(d)
}
