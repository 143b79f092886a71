import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentNotFound } from "../agents/Agent.ts"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { InsufficientCredits, ValidationError } from "../VoiceError.ts"
import {
  TestSession,
  TestSessionBusy,
  TestSessionCreate,
  TestSessionEnded,
  TestSessionFailed,
  TestSessionInput,
  TestSessionLimitExceeded,
  TestSessionNotFound,
  TestSessionQuery,
  TestSessionTimeout,
  TestSessionTurn
} from "./TestSession.ts"

const sessionId = Schema.Struct({ sessionId: AnyId })

/** `/v1/test-sessions`. See docs/reference/test-sessions.md. */
export const TestSessionsApi = HttpApiGroup.make("testSessions")
  .annotateContext(
    OpenApi.annotations({
      title: "Test sessions",
      description: "Conversations with an agent in text, without a phone call. They cost nothing."
    })
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/test-sessions")
      .annotateContext(
        OpenApi.annotations({
          summary: "Begin a test session",
          description:
            "Asks the agent's server as a call does, with the session's id as `call_id`, and answers with the greeting. A session ends by itself 30 minutes after its last message."
        })
      )
      .setUrlParams(TestSessionQuery)
      .setPayload(TestSessionCreate)
      .addSuccess(Schema.Struct({ test_session: TestSession }), { status: 201 })
      .addError(ValidationError.wire)
      .addError(InsufficientCredits.wire)
      .addError(AgentNotFound.wire)
      .addError(TestSessionFailed.wire)
      .addError(TestSessionLimitExceeded.wire)
      .addError(TestSessionTimeout.wire)
  )
  .add(
    HttpApiEndpoint.post("message", "/v1/test-sessions/:sessionId/message")
      .annotateContext(
        OpenApi.annotations({
          summary: "Say something or press digits",
          description:
            "Either `content` or `digits`. Answers when the agent waits for the caller again, with the messages that are new."
        })
      )
      .setPath(sessionId)
      .setUrlParams(TestSessionQuery)
      .setPayload(TestSessionInput)
      .addSuccess(TestSessionTurn)
      .addError(ValidationError.wire)
      .addError(InsufficientCredits.wire)
      .addError(TestSessionNotFound.wire)
      .addError(TestSessionEnded.wire)
      .addError(TestSessionBusy.wire)
      .addError(TestSessionTimeout.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/test-sessions/:sessionId")
      .annotateContext(OpenApi.annotations({ summary: "Get a test session", description: "With all its messages." }))
      .setPath(sessionId)
      .setUrlParams(TestSessionQuery)
      .addSuccess(Schema.Struct({ test_session: TestSession }))
      .addError(ValidationError.wire)
      .addError(TestSessionNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("end", "/v1/test-sessions/:sessionId")
      .annotateContext(
        OpenApi.annotations({
          summary: "End a test session",
          description: "As a call is ended through the API. It can still be read. Ending it again changes nothing."
        })
      )
      .setPath(sessionId)
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(TestSessionNotFound.wire)
      .addError(TestSessionBusy.wire)
      .addError(TestSessionTimeout.wire)
      .annotate(AccessRule, AccessRule.creditsExempt)
  )
