import * as Handlers from "@svc/api/Handlers"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { match } from "./Match.ts"

/** Handler of `/v1/verify/match`. */
export const VerifyHttp: Layer.Layer<never, never, Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "verify",
  Effect.succeed({
    match: ({ payload: { actual, expected, threshold } }) => Effect.sync(() => match(expected, actual, threshold))
  })
)
