import { Option, Schema } from "effect"

const Answer = Schema.Struct({ recording_enabled: Schema.optional(Schema.NullOr(Schema.Boolean)) })

/**
 * Whether a call is to be recorded: what the `call.started` answer says (spec 6.6), else what the agent says. An answer that is
 * not a boolean is ignored, as every bad field is (decisions §4.11).
 */
export const wantsRecording = (answer: unknown, agent: { readonly recording: boolean }): boolean =>
  Schema.decodeUnknownOption(Answer)(answer).pipe(
    Option.flatMapNullable(({ recording_enabled }) => recording_enabled),
    Option.getOrElse(() => agent.recording)
  )
