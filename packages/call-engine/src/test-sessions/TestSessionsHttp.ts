import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import type { TestSessionMessage, TestSessionQuery } from "@svc/api/test-sessions/TestSession"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect } from "effect"
import { TestSessions } from "./TestSessions.ts"

/** Messages as the request asked for them. */
const shown = (messages: ReadonlyArray<TestSessionMessage>, { include }: TestSessionQuery) =>
  include === "tools" ? messages : messages.map(({ arguments: _, duration_ms: __, ...message }) => message)

/** `/v1/test-sessions`. */
export const TestSessionsHttp = Handlers.group(
  VoiceApi,
  "testSessions",
  Effect.gen(function* () {
    const sessions = yield* TestSessions
    return {
      create: ({ payload, urlParams }) =>
        Effect.gen(function* () {
          const { org } = yield* CurrentPrincipal
          const project = yield* CurrentProject
          const session = yield* sessions.create({ org, project }, payload)
          return { test_session: { ...session, messages: shown(session.messages, urlParams) } }
        }),
      message: ({ path, payload, urlParams }) =>
        Effect.gen(function* () {
          const { ended, messages } = yield* sessions.message(yield* CurrentProject, path.sessionId, payload)
          return { messages: shown(messages, urlParams), ended }
        }),
      get: ({ path, urlParams }) =>
        Effect.gen(function* () {
          const session = yield* sessions.get(yield* CurrentProject, path.sessionId)
          return { test_session: { ...session, messages: shown(session.messages, urlParams) } }
        }),
      end: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(sessions.end(project, path.sessionId), { deleted: true as const })
        )
    }
  })
)
