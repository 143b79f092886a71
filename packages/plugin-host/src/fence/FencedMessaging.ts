import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
import { Cause, Duration, Effect, Stream } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import type { PluginLogs } from "../host/PluginHost.ts"
import type { LogFault } from "./FencedRoute.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { problemOf } from "./Shapes.ts"
import { incomingSms, sentSms } from "./TelephonyShapes.ts"

/** How long a network may take to accept a message. */
export const smsDeadline = Duration.seconds(10)

/**
 * Fenced text messages: a `send` that throws, dies or hangs fails with `SmsFailed`, and the message may have been sent.
 * After a timeout the plugin's effect may still complete in the background. A stream of incoming messages that crashes
 * ends.
 */
export const fencedMessaging = (id: string, messaging: Messaging, log: LogFault, logs: PluginLogs): Messaging => ({
  // Only exactly `true` counts: the platform sends again on it.
  deliversOnce: messaging.deliversOnce === true,
  send: (sms) =>
    runIsolated(
      () => logs(messaging.send(sms)),
      (reason) => new SmsFailed({ reason: `${id}: ${reason}`, mayBeSent: true }),
      () => log(`telephony ${id}: the text message ${sms.id} was accepted after its time limit`)
    ).pipe(
      Effect.timeoutFail({
        duration: smsDeadline,
        onTimeout: () =>
          new SmsFailed({
            reason: `${id}: did not accept the message within ${Duration.format(smsDeadline)}`,
            mayBeSent: true
          })
      }),
      Effect.map((sent) => {
        const problem = problemOf(sentSms, sent)
        if (problem === undefined) return sent
        // The network has accepted the message, so it has not failed; its id is lost.
        log(`telephony ${id}: a text message was sent, but ${problem}`)
        return { provider_message_id: null }
      })
    ),
  incoming: messaging.incoming.pipe(
    Stream.filter((sms) => {
      const problem = problemOf(incomingSms, sms)
      if (problem !== undefined) log(`telephony ${id}: a text message that came in is dropped: ${problem}`)
      return problem === undefined
    }),
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
