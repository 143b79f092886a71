import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
import { Cause, Duration, Effect, Stream } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { runIsolated } from "./IsolatedFiber.ts"

/** How long a network may take to accept a message. */
export const smsDeadline = Duration.seconds(10)

/**
 * Fenced text messages: a `send` that throws, dies or hangs fails with `SmsFailed`. After a timeout the plugin's effect
 * may still complete in the background. A stream of incoming messages that crashes ends.
 */
export const fencedMessaging = (id: string, messaging: Messaging): Messaging => ({
  send: (sms) =>
    runIsolated(
      () => messaging.send(sms),
      (reason) => new SmsFailed({ reason: `${id}: ${reason}` })
    ).pipe(
      Effect.timeoutFail({
        duration: smsDeadline,
        onTimeout: () =>
          new SmsFailed({ reason: `${id}: did not accept the message within ${Duration.format(smsDeadline)}` })
      })
    ),
  incoming: messaging.incoming.pipe(
    Stream.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Stream.failCause(cause)
        : Stream.drain(
            Stream.fromEffect(
              Effect.logError(`telephony ${id}: stopped delivering messages: ${errorSummary(Cause.squash(cause))}`)
            )
          )
    )
  )
})
