import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
import { Cause, Duration, Effect, Stream } from "effect"
import { oneLine } from "../loader/OneLine.ts"
import { apart } from "./Apart.ts"

/** How long a network may take to take a message. */
export const smsDeadline = Duration.seconds(10)

/**
 * A network's messages behind a fence: a send that throws, dies or hangs is a failed message, and one that is given up goes on
 * by itself. Messages of a stream that crashes come no more.
 */
export const fencedMessaging = (id: string, messaging: Messaging): Messaging => ({
  send: (sms) =>
    apart(
      () => messaging.send(sms),
      (reason) => new SmsFailed({ reason: `${id}: ${reason}` })
    ).pipe(
      Effect.timeoutFail({
        duration: smsDeadline,
        onTimeout: () =>
          new SmsFailed({ reason: `${id}: did not take the message within ${Duration.format(smsDeadline)}` })
      })
    ),
  incoming: messaging.incoming.pipe(
    Stream.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Stream.failCause(cause)
        : Stream.drain(
            Stream.fromEffect(
              Effect.logError(`telephony ${id}: brings no more messages: ${oneLine(Cause.squash(cause))}`)
            )
          )
    )
  )
})
