import { Schema } from "effect"

/** The part of the platform or of the customer's side in which a call failed. See docs/reference/calls.md. */
export const FailureStage = Schema.Literal(
  "call.started",
  "tool.call",
  "telephony",
  "speech-to-text",
  "text-to-speech",
  "language-model",
  "server"
)
export type FailureStage = typeof FailureStage.Type

/** Why a call failed: what happened, and what to do next. Has no query strings, credentials or headers. */
export const CallFailure = Schema.Struct({
  stage: FailureStage,
  reason: Schema.String,
  hint: Schema.String
}).annotations({ identifier: "CallFailure" })
export type CallFailure = typeof CallFailure.Type

/** Something that was wrong in a call and did not end it. */
export const CallWarning = Schema.Struct({
  /** Seconds from the call's start. */
  at: Schema.Number,
  /** What it is about: `call.started: tools.0`, `tool.call: find_order`, `transcript.updated`, `language-model`. */
  what: Schema.String,
  reason: Schema.String
}).annotations({ identifier: "CallWarning" })
export type CallWarning = typeof CallWarning.Type

/** The most warnings that a call keeps. */
export const maxCallWarnings = 20
