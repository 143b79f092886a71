import { type IncomingSms, type Messaging, SmsFailed } from "@svc/providers/Messaging"
import type { Route } from "@svc/providers/Route"
import { Effect, Queue, type Scope, Stream } from "effect"
import { RecentSids } from "./RecentSids.ts"
import type { TwilioApi } from "./TwilioApi.ts"
import * as Twiml from "./Twiml.ts"
import type { Webhooks } from "./Webhook.ts"

/** Messages whose SIDs are remembered, because Twilio may send a webhook twice. */
const mostRemembered = 10_000

/**
 * Text messages. Twilio knows no ids of ours, so that a message whose answer was lost may have been sent, and is not sent
 * again.
 */
export const make = (options: {
  readonly api: TwilioApi
  readonly webhooks: Webhooks
}): Effect.Effect<{ readonly messaging: Messaging; readonly route: Route }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, webhooks } = options
    const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingSms>(), Queue.shutdown)
    const received = new RecentSids(mostRemembered)
    const route = webhooks.route("/sms", ({ field }) =>
      Effect.sync(() => {
        const id = field("MessageSid")
        if (id === "" || received.has(id)) return Twiml.nothing
        received.add(id)
        Queue.unsafeOffer(incoming, { id, from: field("From"), to: field("To"), message: field("Body") })
        return Twiml.nothing
      })
    )
    const messaging: Messaging = {
      send: ({ from, message, to }) =>
        Effect.matchEffect(api.request("POST", "Messages.json", { To: to, From: from, Body: message }), {
          onFailure: ({ outcome, reason }) =>
            Effect.fail(new SmsFailed({ reason, ...(outcome === "unknown" && { mayBeSent: true }) })),
          onSuccess: (body) => {
            const { sid }: { readonly sid?: unknown } = Object(body)
            return Effect.succeed({ provider_message_id: typeof sid === "string" ? sid : null })
          }
        }),
      incoming: Stream.fromQueue(incoming)
    }
    return { messaging, route }
  })
