import * as Handlers from "@svc/api/Handlers"
import { inSteps } from "@svc/api/Thread"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { matching } from "./Match.ts"

/** Handler of `/v1/verify/match`. */
export const VerifyHttp: Layer.Layer<never, never, Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "verify",
  Effect.succeed({
    match: ({ payload: { actual, expected, threshold } }) => inSteps(() => matching(expected, actual, threshold))
  })
)
