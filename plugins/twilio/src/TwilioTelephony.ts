import { mulaw8k } from "@svc/providers/Audio"
import type { Host } from "@svc/providers/Host"
import { Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, type Redacted, Stream } from "effect"
import * as TwilioApi from "./TwilioApi.ts"

export const layer = (settings: {
  readonly accountSid: string
  readonly authToken: Redacted.Redacted
  readonly origin: string | undefined
  readonly host: Host
}): Layer.Layer<Telephony> =>
  Layer.scoped(
    Telephony,
    Effect.map(TwilioApi.make(settings), ({ health }) => ({
      id: "twilio",
      capabilities: {
        formats: [mulaw8k],
        dtmfIn: true,
        dtmfOut: false,
        transfer: "none" as const,
        earlyMedia: false,
        playbackMarks: "echoed" as const
      },
      incoming: Stream.never,
      health,
      routes: []
    }))
  )
