import { mulaw8k } from "@svc/providers/Audio"
import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, type Redacted } from "effect"
import * as TwilioApi from "./TwilioApi.ts"
import * as TwilioCalls from "./TwilioCalls.ts"
import * as TwilioMessaging from "./TwilioMessaging.ts"
import * as TwilioNumbers from "./TwilioNumbers.ts"
import * as TwilioRegulatory from "./TwilioRegulatory.ts"
import * as Webhook from "./Webhook.ts"

const noBaseUrl: Health = {
  healthy: false,
  reason: "SVC_BASE_URL is not set: Twilio needs the public address of this server, such as https://voice.example.com"
}

/** Calls, text messages and numbers of one account. */
export const layer = (settings: {
  readonly accountSid: string
  readonly authToken: Redacted.Redacted
  /** Another server than Twilio's. */
  readonly origin: string | undefined
  readonly detectsMachines: boolean
  readonly host: Host
}): Layer.Layer<Telephony> =>
  Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const { authToken, detectsMachines, host } = settings
      const api = yield* TwilioApi.make(settings)
      const webhooks = Webhook.make({ authToken, host })
      const calls = yield* TwilioCalls.make({ api, webhooks, host, detectsMachines })
      const { messaging, route } = yield* TwilioMessaging.make({ api, webhooks })
      const regulatory = yield* TwilioRegulatory.make({ api, host })
      return {
        id: "twilio",
        capabilities: {
          formats: [mulaw8k],
          dtmfIn: true,
          dtmfOut: true,
          transfer: "bridge" as const,
          earlyMedia: false,
          playbackMarks: "echoed" as const
        },
        incoming: calls.incoming,
        outbound: calls.outbound,
        health: host.baseUrl === null ? Effect.succeed(noBaseUrl) : api.health,
        sms: messaging,
        numbers: yield* TwilioNumbers.make({ api, webhooks, regulatory, host }),
        regulatory,
        routes: [...calls.routes, route]
      }
    })
  )
