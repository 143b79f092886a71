import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect } from "effect"
import { BrowserCalls } from "./BrowserCalls.ts"

/** `/v1/agents/<agentId>/browser-calls`. */
export const BrowserCallsHttp = Handlers.group(
  VoiceApi,
  "browserCalls",
  Effect.gen(function* () {
    const browserCalls = yield* BrowserCalls
    return {
      create: ({ path, payload }) =>
        Effect.gen(function* () {
          const { org } = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return yield* browserCalls.create({ org, project }, path.agentId, payload)
        })
    }
  })
)
