import { randomUUID } from "node:crypto"
import { type CallLeg, DialFailed, type DialProgress, type Outbound, type OutgoingCall } from "@svc/providers/Telephony"
import { Deferred, Effect } from "effect"
import type { CallListener, CallNetwork } from "./CallNetwork.ts"
import { codecFor } from "./Codec.ts"
import { codeOf, outcomeOf, reasonOf } from "./HangupCause.ts"
import type { Settings } from "./Settings.ts"
import { startLimit } from "./StreamReplacement.ts"
import { dataOf, type TelnyxApi } from "./TelnyxApi.ts"
import { type CallOptions, TelnyxCall } from "./TelnyxCall.ts"
import { type CallPayload, clientState } from "./WebhookEvent.ts"

/** Seconds after which Telnyx gives up; the engine gives up before. */
const ringSeconds = 150
/** How long a webhook may take to show that a call was placed whose answer was lost. */
const lateWebhook = "10 seconds"
/** The same where Telnyx has answered that it failed, which rarely comes with a call. */
const lateAfterError = "5 seconds"
/** How long a call that was given up may still be reported, so that it is hung up. */
const lateFor = "2 minutes"

const failedBy = (payload: CallPayload): DialFailed => {
  const code = codeOf(payload)
  return new DialFailed({
    outcome: outcomeOf(payload),
    reason: reasonOf(payload),
    ...(code === undefined ? {} : { code })
  })
}

/** Places calls. `connectionOf`: the Call Control application that calls from a number belong to. */
export const make = (options: {
  readonly network: CallNetwork
  readonly api: TelnyxApi
  readonly detection: NonNullable<Settings["machineDetection"]>
  readonly connectionOf: (number: string) => Effect.Effect<string | undefined>
  readonly isAlive: CallOptions["isAlive"]
}): Outbound => {
  const { api, connectionOf, detection, isAlive, network } = options

  const place = (order: OutgoingCall, progress: DialProgress | undefined): Effect.Effect<CallLeg, DialFailed> =>
    Effect.gen(function* () {
      const codec = codecFor(order.formats)
      if (codec === undefined) {
        return yield* new DialFailed({ outcome: "failed", reason: "Telnyx has none of the audio formats" })
      }
      const token = `dial:${randomUUID()}`
      const call = new TelnyxCall({ network, codec, ownNumber: order.from, isAlive, isRinging: true })
      const answered = yield* Deferred.make<void, DialFailed>()
      /** A webhook has come: the call was placed. */
      const seen = yield* Deferred.make<void>()
      let hasRung = false
      /** Telnyx's ids are known, by its answer or a webhook: whichever comes first. */
      const identify = (id: string, session: string | undefined): void => {
        const isNew = call.id === undefined && !call.isOver
        call.identify(id, session)
        if (isNew) progress?.onPlaced?.(id)
        // From now on its webhooks come here by its id too.
        if (!call.isOver) network.listeners.byId.set(id, listener)
      }
      const listener: CallListener = {
        onWebhook: (type, payload) => {
          if (!call.isOver || type !== "call.hangup") {
            identify(payload.call_control_id, payload.call_session_id ?? undefined)
          }
          Deferred.unsafeDone(seen, Effect.void)
          if (type === "call.hangup") Deferred.unsafeDone(answered, failedBy(payload))
          else if (type === "call.answered") {
            call.answer()
            Deferred.unsafeDone(answered, Effect.void)
          } else if (type === "call.initiated" && !hasRung && !call.isOver) {
            hasRung = true
            progress?.onRinging?.()
          }
          call.onWebhook(type, payload)
        }
      }
      network.listeners.byState.set(token, listener)
      const forget = Effect.sync(() => void network.listeners.byState.delete(token))

      const ask = Effect.gen(function* () {
        const connection = yield* connectionOf(order.from)
        if (call.isOver) return
        const body = yield* api.request({
          method: "POST",
          path: "/calls",
          json: {
            ...(connection === undefined ? {} : { connection_id: connection }),
            to: order.to,
            from: order.from,
            timeout_secs: ringSeconds,
            ...(detection === "disabled" ? {} : { answering_machine_detection: detection }),
            ...call.streamRequest(),
            preferred_codecs: "PCMU,PCMA",
            command_id: token.slice(5),
            client_state: clientState(token),
            webhook_url: network.webhookUrl,
            ...(order.headers === undefined
              ? {}
              : { custom_headers: Object.entries(order.headers).map(([name, value]) => ({ name, value })) })
          },
          isRepeatable: true
        })
        const { call_control_id: id, call_session_id: session } = Object(dataOf(body))
        if (typeof id !== "string") return
        identify(id, typeof session === "string" ? session : undefined)
      }).pipe(
        Effect.catchAll(({ outcome, reason, status = 0 }) => {
          const failed = new DialFailed({ outcome: "failed", reason: `Telnyx did not place the call: ${reason}` })
          return outcome === "unknown"
            ? // It may have been placed nevertheless.
              Effect.raceFirst(
                Deferred.await(seen),
                Effect.zipRight(
                  Effect.sleep(status >= 500 ? lateAfterError : lateWebhook),
                  Deferred.fail(answered, failed)
                )
              )
            : Deferred.fail(answered, failed)
        }),
        Effect.asVoid
      )
      // Not in this fiber: a request that is broken off may place the call nevertheless.
      network.fork(ask)
      const giveUp = Effect.sync(() => {
        call.hangup()
        network.fork(Effect.delay(forget, lateFor))
      })

      return yield* Effect.gen(function* () {
        yield* Deferred.await(answered)
        yield* call.connected.pipe(
          Effect.mapError(failedBy),
          Effect.timeoutFail({
            duration: startLimit,
            onTimeout: () =>
              new DialFailed({
                outcome: "failed",
                reason: `Telnyx opened no media connection within ${startLimit}; is SVC_BASE_URL reachable from the internet, WebSockets included?`
              })
          })
        )
        if (call.id !== undefined) network.listeners.byId.set(call.id, call)
        yield* forget
        return call.leg
      }).pipe(
        Effect.tapError(() => giveUp),
        Effect.onInterrupt(() => giveUp)
      )
    })

  return { dial: place }
}
