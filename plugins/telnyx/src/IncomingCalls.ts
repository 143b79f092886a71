import type { AudioFormat } from "@svc/providers/Audio"
import type { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import { CallGone, type IncomingCall, type RejectCause } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import type { CallListener, CallNetwork } from "./CallNetwork.ts"
import { codecFor } from "./Codec.ts"
import { reasonOf } from "./HangupCause.ts"
import { type CallOptions, TelnyxCall } from "./TelnyxCall.ts"
import type { CallPayload } from "./WebhookEvent.ts"

/** How long Telnyx may take to connect a call after it was answered: less than the server waits. */
const connectLimit = "9 seconds"

/** The number or SIP URI of a party; null: it is withheld. */
const partyOf = (text: string | null | undefined): string | null => {
  if (text === undefined || text === null) return null
  if (/^\+?\d+$/.test(text)) return text.startsWith("+") ? text : `+${text}`
  return /^sips?:/.test(text) ? text : /^[^\s@]+@[^\s@]+$/.test(text) ? `sip:${text}` : null
}

const headersOf = ({ custom_headers, sip_headers }: CallPayload): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...(sip_headers ?? []), ...(custom_headers ?? [])].flatMap((header) =>
      header === null ? [] : [[header.name, header.value]]
    )
  )

/** Telnyx's name of a refusal; it has two. */
const causes: { readonly [C in RejectCause]: "USER_BUSY" | "CALL_REJECTED" } = {
  busy: "USER_BUSY",
  declined: "CALL_REJECTED",
  unavailable: "CALL_REJECTED",
  "unknown-number": "CALL_REJECTED"
}

/** Whether a command was refused because its call is over: "Call has already ended", or Telnyx knows it no longer. */
const isOver = ({ code, status }: CarrierRequestFailed): boolean => code === "90018" || status === 404

/** Takes `call.initiated` of a call to us, and gives the call to the engine. */
export const take = (
  network: CallNetwork,
  isAlive: CallOptions["isAlive"],
  payload: CallPayload,
  offer: (incoming: IncomingCall) => void
): void => {
  const { call_control_id: id, caller_id_name: callerName } = payload
  const to = partyOf(payload.to) ?? payload.to ?? ""
  const canceled = Deferred.unsafeMake<void>(FiberId.none)
  let state: "offered" | "answered" | "over" = "offered"
  const waiting: CallListener = {
    onWebhook: (type) => {
      if (type !== "call.hangup" || state !== "offered") return
      state = "over"
      network.listeners.byId.delete(id)
      Deferred.unsafeDone(canceled, Effect.void)
    }
  }
  network.listeners.byId.set(id, waiting)

  const reject = (cause: RejectCause): void => {
    if (state !== "offered") return
    state = "over"
    network.listeners.byId.delete(id)
    network.fork(
      Effect.catchAll(network.commands.command(id, "reject", { cause: causes[cause] }), ({ outcome, reason }) =>
        Effect.sync(() => {
          if (outcome !== "refused") network.log.warning(`Telnyx did not reject a call: ${reason}`)
        })
      )
    )
  }

  const answer = (formats: ReadonlyArray<AudioFormat>) =>
    Effect.gen(function* () {
      if (state === "over") return yield* new CallGone({ reason: "the caller hung up" })
      if (state !== "offered") return yield* new CallGone({ reason: "the call is answered already" })
      const codec = codecFor(formats)
      if (codec === undefined) {
        reject("unavailable")
        return yield* new CallGone({ reason: "Telnyx has none of the audio formats", failed: true })
      }
      state = "answered"
      const call = new TelnyxCall({ network, codec, ownNumber: to, isAlive, isRinging: false })
      network.listeners.byId.delete(id)
      call.identify(id, payload.call_session_id ?? undefined)
      const answered = network.commands
        .command(id, "answer", {
          ...call.streamRequest(),
          preferred_codecs: "PCMU,PCMA",
          webhook_url: network.webhookUrl
        })
        .pipe(
          Effect.mapError((failure) =>
            isOver(failure)
              ? new CallGone({ reason: "the caller hung up" })
              : new CallGone({ reason: `Telnyx did not answer the call: ${failure.reason}`, failed: true })
          ),
          Effect.tap(() => Effect.sync(() => call.expectStream()))
        )
      const connected = Effect.mapError(
        call.connected,
        (hangup) => new CallGone({ reason: `the caller hung up: ${reasonOf(hangup)}` })
      )
      return yield* Effect.raceFirst(Effect.zipRight(answered, Effect.never), connected).pipe(
        Effect.timeoutFail({
          duration: connectLimit,
          onTimeout: () =>
            new CallGone({
              reason: `Telnyx opened no media connection within ${connectLimit}; is SVC_BASE_URL reachable from the internet, WebSockets included?`,
              failed: true
            })
        }),
        Effect.map(() => call.leg),
        Effect.tapError(() => Effect.sync(call.hangup)),
        Effect.onInterrupt(() => Effect.sync(call.hangup))
      )
    })

  offer({
    id,
    from: partyOf(payload.from),
    to,
    ...(callerName === undefined || callerName === null || callerName === "" ? {} : { callerName }),
    headers: headersOf(payload),
    // Telnyx plays the ringing tone from the beginning.
    ringing: () => {},
    answer: ({ formats }) => answer(formats),
    reject: (cause) => reject(cause),
    canceled: Deferred.await(canceled)
  })
}
