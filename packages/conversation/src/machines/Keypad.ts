import { command, type Draft, emit, ids } from "../Draft.ts"
import * as Gather from "./Gather.ts"
import * as Limits from "./Limits.ts"
import * as Model from "./Model.ts"
import * as Tools from "./Tools.ts"

/** The caller pressed a key. */
export const onDigit = (d: Draft, digit: string): void => {
  Limits.restartInactivity(d)
  const action = Gather.isActive(d.state) ? "gather" : (d.state.config?.dtmf_actions[digit] ?? "unmapped")
  emit(d, { event: "call.dtmf.received", data: { ...ids(d), digit, action } })
  deliver(d, Gather.onDigit(d, digit))
}

/** No digit came in time. */
export const onTimer = (d: Draft): void => deliver(d, Gather.onTimer(d))

/** Hands a finished gather to what requested it: the tool, or the agent's server for the menu. */
const deliver = (d: Draft, gathered: Gather.Gathered | null): void => {
  if (gathered === null) return
  const { input, of, status } = gathered
  if (of.kind === "tool") Tools.run(d, of.id, { gathered_input: input, gather_status: status })
  if (of.kind === "menu") {
    const gathered_digit = input === null ? null : input.slice(0, 1)
    command(d, { _tag: "FetchConfig", gathered: { gathered_digit, gathered_input: input, gather_status: status } })
  }
  Model.continueAfterTools(d)
}
