import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect } from "effect"
import { TestSessions } from "./TestSessions.ts"

/** `/v1/test-sessions`. */
export const TestSessionsHttp = Handlers.group(
  VoiceApi,
  "testSessions",
  Effect.gen(function* () {
    const sessions = yield* TestSessions
    return {
      create: ({ payload }) =>
        Effect.gen(function* () {
          const { org } = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return { test_session: yield* sessions.create({ org, project }, payload) }
        }),
      message: ({ path, payload }) =>
        Effect.flatMap(CurrentProject, (project) => sessions.message(project, path.sessionId, payload)),
      get: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(sessions.get(project, path.sessionId), (test_session) => ({ test_session }))
        ),
      end: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(sessions.end(project, path.sessionId), { deleted: true as const })
        )
    }
  })
)
