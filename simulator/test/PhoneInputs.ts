import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { CallView } from "../src/CallView.ts"
import { PhoneEvent } from "../src/PhoneEvent.ts"
import { Action, type Input } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { initial, type PhoneState } from "../src/PhoneState.ts"

export const received = (message: ServerMessage): Input => PhoneEvent.Received({ message })
export const heard = (text: string, final = false): Input => received({ event: "heard", text, final })
export const dialled = Action.Dialled({ to: "+15550000001", from: "+15550000002" })
export const answered = received({ event: "answered", call_id: "call_1" })
export const said = (text: string): Input => Action.Said({ text })
export const clear = received({ event: "clear" })

/** Runs timed inputs: `[milliseconds, input]`. */
export const play = (...inputs: ReadonlyArray<readonly [number, Input]>): PhoneState =>
  inputs.reduce((state, [at, input]) => reduce(state, input, at), initial(0))
/** The call of a state. */
export const callOf = (state: PhoneState): CallView => {
  if (state.call === null) throw new Error("there is no call")
  return state.call
}
/** The utterances of the call. */
export const utterances = (state: PhoneState) => callOf(state).dialogue.utterances
/** The utterances in short. */
export const brief = (state: PhoneState) =>
  utterances(state).map((l) => `${l.who}: ${l.text}${l.cut ? " ✂" : ""}${l.final ? "" : " …"}`)
/** The texts of the log. */
export const texts = (state: PhoneState) => state.log.map((entry) => entry.text)
