import { Schema } from "effect"
import { GatherRules } from "./GatherRules.ts"

/** What the caller is asked before the conversation, by `pre_gather`. */
export const Menu = Schema.Struct({
  rules: GatherRules,
  /** How often the prompt is repeated after a timeout or a wrong key. */
  max_retries: Schema.Number
})
export type Menu = typeof Menu.Type
