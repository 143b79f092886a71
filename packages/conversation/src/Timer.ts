import { Schema } from "effect"

/** The timers of a call, by name. A journal stores the names: they never change. */
export const Timer = Schema.Union(
  Schema.Literal(
    "ahead",
    "barge_in",
    "drain",
    "endpoint",
    "extraction",
    "farewell",
    "filler",
    "gather",
    "inactivity",
    "keys",
    "knowledge",
    "max_duration",
    "model",
    "post_call_sms",
    "resume",
    "ring",
    "silence_prompt",
    "transfer",
    "voicemail_doubt",
    "voicemail_greeting",
    "voicemail_patience",
    "voicemail_silence"
  ),
  /** The time limit of a tool call, by the id of the call. */
  Schema.TemplateLiteral("tool:", Schema.String)
)
export type Timer = typeof Timer.Type

const toolPrefix = "tool:"

/** The timer of a tool call. */
export const toolTimer = (callId: string): ToolTimer => `${toolPrefix}${callId}`

export type ToolTimer = Extract<Timer, `tool:${string}`>

/** The tool call that a timer belongs to. */
export const toolCallOf = (timer: ToolTimer): string => timer.slice(toolPrefix.length)
