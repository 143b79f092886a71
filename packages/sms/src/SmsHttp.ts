import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Sms } from "./Sms.ts"

/** Handler of `/v1/sms/send`. */
export const SmsHttp: Layer.Layer<never, never, Sms | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "sms",
  Effect.map(Sms, (sms) => ({
    send: ({ payload }) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const project = yield* CurrentProject
        return yield* sms.send({ ...principal, project }, payload)
      })
  }))
)
