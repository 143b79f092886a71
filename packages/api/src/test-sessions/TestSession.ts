import { Schema } from "effect"
import { AgentId, TestSessionId } from "../Ids.ts"
import { define } from "../VoiceError.ts"
import { E164, JsonObject, Timestamp } from "../Wire.ts"

/** What was said, pressed or done in a test session. */
export const TestSessionMessage = Schema.Struct({
  role: Schema.Literal("user", "assistant", "tool").annotations({
    description: "`user`: the caller, `assistant`: the agent, `tool`: the result of a tool"
  }),
  content: Schema.String.annotations({
    description: "Text, the digits that were pressed, or the result of a tool as JSON",
    examples: ["Hello, how can I help?"]
  }),
  timestamp: Timestamp,
  tool_name: Schema.optionalWith(Schema.String.annotations({ description: "Only with the role `tool`" }), {
    exact: true
  }),
  arguments: Schema.optionalWith(
    JsonObject.annotations({ description: "Only with the role `tool` and `include=tools`: what the tool was given" }),
    { exact: true }
  ),
  duration_ms: Schema.optionalWith(
    Schema.Int.annotations({
      description: "Only with the role `tool` and `include=tools`: how long the tool took; absent after a restart"
    }),
    { exact: true }
  )
}).annotations({ identifier: "TestSessionMessage" })
export type TestSessionMessage = typeof TestSessionMessage.Type

/** Query of the requests that answer with messages. */
export const TestSessionQuery = Schema.Struct({
  include: Schema.optional(
    Schema.Literal("tools").annotations({
      description: "`tools`: messages of tools also have `arguments` and `duration_ms`",
      message: () => "include must be tools"
    })
  )
})
export type TestSessionQuery = typeof TestSessionQuery.Type

/** A conversation with an agent in text. See docs/reference/test-sessions.md. */
export const TestSession = Schema.Struct({
  id: TestSessionId,
  agent_id: AgentId,
  status: Schema.Literal("active", "ended"),
  messages: Schema.Array(TestSessionMessage).annotations({ description: "In the order in which they happened" }),
  created_at: Timestamp,
  ended_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "TestSession" })
export type TestSession = typeof TestSession.Type

/** Body of `POST /v1/test-sessions`. */
export const TestSessionCreate = Schema.Struct({
  agent_id: Schema.Union(Schema.String, Schema.Int).annotations({ description: "Public or numeric id" }),
  from: Schema.optional(E164.annotations({ description: "The caller's number, which the agent's server gets" })),
  metadata: Schema.optional(
    JsonObject.annotations({ description: "Kept with the session. At most 65,536 bytes and 5 levels" })
  )
}).annotations({ identifier: "TestSessionCreate" })
export type TestSessionCreate = typeof TestSessionCreate.Type

/** The longest text of one message, in characters. */
const maxContent = 4000

/** Body of `POST /v1/test-sessions/<id>/message`: one of the two fields. That it is one is the service's to check. */
export const TestSessionInput = Schema.Struct({
  content: Schema.optional(
    Schema.String.pipe(
      Schema.pattern(/\S/, { message: () => "content is required." }),
      Schema.maxLength(maxContent, { message: () => `content cannot exceed ${maxContent} characters` })
    ).annotations({ description: "What the caller says", examples: ["What are your opening hours?"] })
  ),
  digits: Schema.optional(
    Schema.String.pipe(
      Schema.pattern(/^[0-9*#]{1,32}$/, { message: () => "digits must be 1 to 32 of 0-9, * and #" })
    ).annotations({ description: "The digits that the caller presses", examples: ["12#"] })
  )
}).annotations({ identifier: "TestSessionInput" })
export type TestSessionInput = typeof TestSessionInput.Type

/** Answer to it: what the message added to the session, itself first. */
export const TestSessionTurn = Schema.Struct({
  messages: Schema.Array(TestSessionMessage),
  ended: Schema.Boolean.annotations({ description: "Whether the session is over" })
}).annotations({ identifier: "TestSessionTurn" })
export type TestSessionTurn = typeof TestSessionTurn.Type

export class TestSessionNotFound extends define(
  "TestSessionNotFound",
  "TEST_SESSION_NOT_FOUND",
  404,
  "test session not found"
) {}

/** The session is over; `message` says why. */
export class TestSessionEnded extends define(
  "TestSessionEnded",
  "TEST_SESSION_ENDED",
  409,
  "the test session has ended: create another"
) {}

/** Another message of the session did not come to an end in time. */
export class TestSessionBusy extends define(
  "TestSessionBusy",
  "TEST_SESSION_BUSY",
  409,
  "the test session still works on an earlier message: send the next one when that is answered"
) {}

/** The agent's server gave no usable configuration; `message` has the reason. */
export class TestSessionFailed extends define(
  "TestSessionFailed",
  "TEST_SESSION_FAILED",
  422,
  "the test session could not begin"
) {}

/** The agent works longer on its turn than an answer may take. */
export class TestSessionTimeout extends define(
  "TestSessionTimeout",
  "TEST_SESSION_TIMEOUT",
  504,
  "the agent has not finished its turn in time; it goes on: read the session to see the outcome"
) {}

/** The project has as many active sessions as it may have. */
export class TestSessionLimitExceeded extends define(
  "TestSessionLimitExceeded",
  "TEST_SESSION_LIMIT_EXCEEDED",
  429,
  "the project has 200 active test sessions: end one of them"
) {}
