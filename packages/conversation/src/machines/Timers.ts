import { type Draft, removeTimer } from "../Draft.ts"
import { isRunning } from "../State.ts"
import { type Timer, toolCallOf } from "../Timer.ts"
import * as Ending from "./Ending.ts"
import * as Failures from "./Failures.ts"
import * as Filler from "./Filler.ts"
import * as Keypad from "./Keypad.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Model from "./Model.ts"
import * as Outbound from "./Outbound.ts"
import * as PostCall from "./PostCall.ts"
import * as Silence from "./Silence.ts"
import * as Speculation from "./Speculation.ts"
import * as Tools from "./Tools.ts"
import * as Transfer from "./Transfer.ts"
import * as Turn from "./Turn.ts"
import * as Voicemail from "./Voicemail.ts"

/** A timer fired. One that was stopped meanwhile has no effect. */
export const onFired = (d: Draft, timer: Timer): void => {
  if (!isRunning(d.state, timer)) return
  if (!endsPhase(d, timer)) removeTimer(d, timer)
  dispatch(d, timer)
}

/** Whether a timer ends its phase, which stops all timers by commands, this one included. */
const endsPhase = (d: Draft, timer: Timer): boolean =>
  timer === "ring" || timer === "drain" || (timer === "transfer" && d.state.phase === "transferred")

const dispatch = (d: Draft, timer: Timer): void => {
  switch (timer) {
    case "ring":
      Ending.over(d, Outbound.outcomeOf("no-answer"))
      return
    case "ahead":
      Speculation.onTimer(d)
      return
    case "max_duration":
      Ending.begin(d, "timeout")
      return
    case "inactivity":
      Ending.begin(d, "silence-timeout")
      return
    case "keys":
      Tools.onKeysTimer(d)
      return
    case "silence_prompt":
      Silence.onTimer(d)
      return
    case "endpoint":
      Failures.onEndpointTimer(d)
      return
    case "barge_in":
      Turn.onBargeInTimer(d)
      return
    case "resume":
      Turn.onResumeTimer(d)
      return
    case "model":
      Failures.onModel(d, Model.onTimer(d))
      return
    case "filler":
      Filler.onTimer(d)
      return
    case "knowledge":
      Knowledge.onTimer(d)
      Model.continueAfterTools(d)
      return
    case "gather":
      Keypad.onTimer(d)
      return
    case "transfer":
      if (d.state.phase === "transferred") Ending.over(d, Transfer.outcome)
      else Transfer.onTimer(d)
      return
    case "voicemail_doubt":
      Voicemail.onDecisionTimer(d)
      return
    case "voicemail_greeting":
      Voicemail.onGreetingTimer(d)
      return
    case "voicemail_silence":
    case "voicemail_patience":
      Voicemail.leaveMessage(d)
      return
    case "farewell":
      Ending.onFarewellTimer(d)
      return
    case "drain":
      Ending.onDrainTimer(d)
      return
    case "extraction":
      PostCall.onExtractionTimer(d)
      return
    case "post_call_sms":
      PostCall.onSmsTimer(d)
      return
    default:
      Tools.onTimeout(d, toolCallOf(timer))
  }
}
