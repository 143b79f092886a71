import { Either } from "effect"
import type { InputOf } from "../Input.ts"
import { type AgentDefaults, resolve } from "./CallConfig.ts"
import { isRecord, type Warning } from "./FieldReader.ts"
import { menuOf } from "./GatherAnswer.ts"

type Told =
  | Omit<InputOf<"MenuAnswered">, "at">
  | Omit<InputOf<"ConfigAnswered">, "at">
  | Omit<InputOf<"ConfigFailed">, "at">

/**
 * What the body of an answer to `call.started` tells the conversation. The first answer may ask for a menu
 * by `pre_gather`, in place of a `system_prompt`; the `second`, after the menu, may not.
 */
export const read = (
  body: unknown,
  agent: AgentDefaults,
  speaks: (voice: string, language: string) => boolean,
  second: boolean
): Told => {
  const warnings: Array<Warning> = []
  const menu = second ? null : menuOf(body, warnings)
  if (menu !== null) return { _tag: "MenuAnswered", menu, warnings }
  if (second && isRecord(body) && body["pre_gather"] !== undefined && body["pre_gather"] !== null) {
    warnings.push({ field: "pre_gather", reason: "only the first answer of a call may ask for a menu" })
  }
  return Either.match(resolve(body, agent, speaks, warnings), {
    onLeft: ({ reason }): Told => ({ _tag: "ConfigFailed", reason }),
    onRight: (config): Told => ({ _tag: "ConfigAnswered", config })
  })
}

/** What is wrong with an answer, in plain sentences. */
export const complaintsOf = (told: Told): ReadonlyArray<string> => {
  if (told._tag === "ConfigFailed") return [told.reason]
  const warnings = told._tag === "MenuAnswered" ? told.warnings : told.config.warnings
  return warnings.map(({ field, reason }) => `${field} is left out: ${reason}`)
}
