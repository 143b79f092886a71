import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import { SmsFailed } from "@svc/providers/Messaging"
import * as Plugin from "@svc/providers/Plugin"
import { Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, Schema, Stream } from "effect"

/**
 * A plugin whose text messages a test's server receives, at `SVC_<NAME>_URL`: first `prepare`, then `send`, each with the
 * message. Its answer to `send` is `{ id }` or `{ refused }`.
 */
export const textNetwork = (name, deliversOnce) => {
  const request = (url, event, sms) =>
    Effect.tryPromise({
      try: async (signal) =>
        (await fetch(url, { method: "POST", body: JSON.stringify({ event, telephony: name, ...sms }), signal })).json(),
      catch: (cause) => new SmsFailed({ reason: `the connection broke: ${cause}`, mayBeSent: true })
    })
  return Plugin.make({
    name,
    apiVersion: "^2.0.0",
    config: Schema.Struct({ url: Schema.String }),
    provides: ({ url }) => ({
      telephony: Layer.succeed(Telephony, {
        id: name,
        capabilities: {
          formats: [mulaw8k],
          dtmfIn: false,
          dtmfOut: false,
          transfer: "none",
          earlyMedia: false,
          playbackMarks: "exact"
        },
        incoming: Stream.never,
        health: Effect.succeed(healthy),
        routes: [],
        sms: {
          deliversOnce,
          incoming: Stream.never,
          send: (sms) =>
            Effect.gen(function* () {
              yield* request(url, "prepare", sms)
              const { id, refused } = yield* request(url, "send", sms)
              if (refused !== undefined) return yield* new SmsFailed({ reason: refused })
              return { provider_message_id: id }
            })
        }
      })
    })
  })
}
