import { Schema } from "effect"
import { GatherRules } from "./GatherRules.ts"

/** The menu before the conversation, from `pre_gather`. */
export const Menu = Schema.Struct({
  rules: GatherRules,
  /** How often the prompt is repeated after a timeout or a wrong digit. */
  max_retries: Schema.Number
})
export type Menu = typeof Menu.Type
