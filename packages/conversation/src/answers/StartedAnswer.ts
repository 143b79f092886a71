import { Either } from "effect"
import type { InputOf } from "../Input.ts"
import { type AgentDefaults, resolve } from "./CallConfig.ts"
import type { Abilities } from "./CallSettings.ts"
import { isRecord, Warnings } from "./FieldReader.ts"
import { menuOf } from "./GatherAnswer.ts"

type AnswerInput =
  | Omit<InputOf<"MenuAnswered">, "at">
  | Omit<InputOf<"ConfigAnswered">, "at">
  | Omit<InputOf<"ConfigFailed">, "at">

/**
 * Reads the body of an answer to `call.started` as an input. The first answer may have a menu (`pre_gather`) in place
 * of a `system_prompt`; the `second`, after the menu, may not.
 */
export const read = (body: unknown, agent: AgentDefaults, abilities: Abilities, second: boolean): AnswerInput => {
  const warnings = new Warnings()
  const menu = second ? null : menuOf(body, warnings)
  if (menu !== null) return { _tag: "MenuAnswered", menu, ...warnings.fields }
  if (second && isRecord(body) && body["pre_gather"] !== undefined && body["pre_gather"] !== null) {
    warnings.add("pre_gather", "only the first answer of a call may ask for a menu")
  }
  return Either.match(resolve(body, agent, abilities, warnings), {
    onLeft: ({ reason }): AnswerInput => ({ _tag: "ConfigFailed", reason }),
    onRight: (config): AnswerInput => ({ _tag: "ConfigAnswered", config })
  })
}

/** The problems of an answer as one line for the log; undefined when it has none. */
export const problemsOf = (input: AnswerInput): string | undefined => {
  if (input._tag === "ConfigFailed") return input.reason
  const { warnings, warnings_dropped } = input._tag === "MenuAnswered" ? input : input.config
  if (warnings.length === 0) return undefined
  const kept = warnings.map(({ field, reason }) => `${field} is left out: ${reason}`).join("; ")
  return warnings_dropped === undefined ? kept : `${kept}; and ${warnings_dropped} more`
}
