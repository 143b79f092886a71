import { randomBytes } from "node:crypto"
import { LegEvents } from "@svc/providers/LegEvents"
import { type CallLeg, DialFailed, type DialProgress, type OutgoingCall } from "@svc/providers/Telephony"
import { Data, Deferred, Effect } from "effect"
import { type CallContext, callOptions } from "./CallContext.ts"
import * as CallMedia from "./CallMedia.ts"
import { outcomeOf } from "./CallParty.ts"
import type { Codec } from "./Codec.ts"
import type * as Call from "./dialog/Call.ts"
import type { CallEvent } from "./dialog/Output.ts"
import { contact } from "./message/Contact.ts"
import type { Headers } from "./message/Message.ts"
import * as Uri from "./message/Uri.ts"
import { SipCall } from "./SipCall.ts"
import { hostOf, type Trunk, transportOf } from "./Trunk.ts"
import { adviceOf, advised, failureText } from "./TrunkAdvice.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/**
 * A call was not answered. `canTryNextTrunk`: the next trunk may be tried, because this one was not available.
 * `isUnreached`: no response came at all.
 */
export class AttemptFailed extends Data.TaggedError("AttemptFailed")<{
  readonly failure: DialFailed
  readonly canTryNextTrunk: boolean
  readonly isUnreached: boolean
}> {}

/** The URI of To: without the parameters that say how a request is sent (RFC 3261, table 1 in 19.1.1). */
const toOf = (text: string): string => {
  const uri = Uri.parse(text)
  if (uri?._tag !== "Sip") return text
  const params = uri.params.filter(
    ({ name }) => !["transport", "maddr", "ttl", "method", "lr"].includes(name.toLowerCase())
  )
  return params.length === uri.params.length ? text : Uri.text({ ...uri, params })
}

/** Where one attempt goes. */
export interface Attempt {
  readonly trunk: Trunk
  /** Our address in From. */
  readonly from: string
  /** Whether another trunk can be tried. */
  readonly hasAlternative: boolean
  /** The Request-URI. */
  readonly uri: string
  readonly headers: Headers
  /** Those that both sides may take, the preferred one first. */
  readonly codecs: readonly [Codec, ...ReadonlyArray<Codec>]
}

/** Calls over one trunk, until the call is answered or has failed. Interruption hangs up. */
export const place = (
  context: CallContext,
  call: OutgoingCall,
  { codecs, from, hasAlternative, headers, trunk, uri }: Attempt,
  progress: DialProgress | undefined
): Effect.Effect<CallLeg, AttemptFailed> =>
  Effect.gen(function* () {
    const { listeners, log, media, signaling } = context
    const [codec] = codecs
    const id = randomBytes(16).toString("hex")
    const events = new LegEvents()
    const outcome = yield* Deferred.make<CallLeg, AttemptFailed>()
    let isAnswered = false
    let hasRung = false
    /** The Call-ID. */
    let carrierCallId = id
    const emit: typeof events.emit = (event) => {
      if (isAnswered) events.emit(event)
      else if (event._tag === "Audio" && event.payload.length > 0) progress?.onEarlyMedia?.(event.payload, codec.format)
    }
    // The peer's address: the host of the trunk, where that is an IP address.
    const peer = hostOf(trunk)
    const address = signaling.addressFor(peer)
    const transport = transportOf(trunk)
    const audio = yield* CallMedia.open(media, emit, {
      codecs,
      codec,
      address,
      sessionId: String(Number.parseInt(id.slice(0, 8), 16)),
      source: undefined,
      encryption: context.encryptionOver(transport)
    }).pipe(
      Effect.mapError(({ message }) => {
        const failure = new DialFailed({ outcome: "failed", reason: message })
        return new AttemptFailed({ failure, canTryNextTrunk: false, isUnreached: false })
      })
    )
    const command = (given: Call.Command): void =>
      signaling.perform(signaling.agent.command(id, given, signaling.now()))
    const sipCall = new SipCall(audio, events, {
      ...callOptions(context, { call: id, peer, trunk, user: call.from }),
      command
    })
    const fail = (
      status: number,
      { advice, reason }: { readonly reason: string; readonly advice?: string | undefined },
      canTryNextTrunk = false,
      isUnreached = false
    ): void => {
      const failure = new DialFailed({
        outcome: outcomeOf(status),
        reason,
        ...(advice === undefined ? {} : { advice }),
        ...(status < 300 ? {} : { code: String(status) })
      })
      Deferred.unsafeDone(outcome, new AttemptFailed({ failure, canTryNextTrunk, isUnreached }))
    }
    const refuse = (status: number, reason: string, canTryNextTrunk: boolean, isUnreached = false): void => {
      const why = isUnreached ? (signaling.problemOf(id) ?? reason) : reason
      const advice = adviceOf(trunk, status, isUnreached)
      // docs/sip.md explains errors by their status; none came from a trunk that was not reached.
      const isRedirected = status >= 300 && status < 400
      const failed = failureText(trunk, status, why, isUnreached)
      const text = isRedirected ? `${failed}; redirects are not followed` : failed
      if ((advice !== undefined && status !== 404) || (status < 300 && trunk.variable !== "")) {
        log.warning(
          `SIP: a call over the trunk of ${trunk.variable}_URI failed (${status}): ${advised(text, advice)}`,
          {
            call_id: call.callId,
            carrier_call_id: carrierCallId
          }
        )
      }
      fail(status, { reason: text, advice }, canTryNextTrunk, isUnreached)
    }
    const hangup = (): void => command({ _tag: "Hangup", reason: "given up" })
    const onAnswer = (sdp: Uint8Array): void => {
      isAnswered = audio.accept(sdp)
      const leg = { ...sipCall.leg, carrierCallId }
      if (isAnswered) {
        context.joinable.add(leg, { call: id, sipCall })
        sipCall.watch()
        Deferred.unsafeDone(outcome, Effect.succeed(leg))
      } else {
        hangup()
        refuse(200, audio.obstacleText, false)
      }
    }
    const on = (event: CallEvent): void => {
      if (event._tag === "Refused" || event._tag === "Ended") listeners.delete(id)
      if (isAnswered) sipCall.on(event)
      else if (event._tag === "Ringing") {
        if (event.sdp !== undefined) audio.accept(event.sdp)
        if (!hasRung && event.status === 180) progress?.onRinging?.()
        hasRung = hasRung || event.status === 180
      } else if (event._tag === "Offered") {
        const { key } = event
        const sdp = event.sdp === undefined ? undefined : audio.answer(event.sdp)
        command(
          sdp === undefined
            ? { _tag: "Decline", key, status: 488, reason: "Not Acceptable Here", warning: audio.warning }
            : { _tag: "Accept", key, sdp }
        )
      } else if (event._tag === "Refused") {
        const isUnavailable = event.isUnreached === true || event.status === 503
        refuse(event.status, event.reason, isUnavailable && !hasRung, event.isUnreached === true)
      } else if (event._tag === "Answered") onAnswer(event.sdp)
      else if (event._tag === "Ended") fail(500, { reason: "the call ended as it was answered" })
    }
    listeners.set(id, on)
    const ours = contact({
      transport,
      host: bracketed(signaling.addressFor(peer, transport)),
      port: signaling.portOf(transport),
      user: call.from,
      isSips: trunk.uri.scheme === "sips"
    })
    const invite = Effect.sync(() => {
      const effects = signaling.agent.invite(
        id,
        {
          uri,
          from: `<${from}>`,
          to: `<${toOf(uri)}>`,
          contact: ours,
          headers,
          routes: [],
          sdp: audio.offer(),
          account: trunk.account,
          hasAlternative
        },
        signaling.now()
      )
      carrierCallId = signaling.agent.callId(id) ?? id
      progress?.onPlaced?.(carrierCallId)
      signaling.perform(effects)
    })
    // Also after the answer: the engine does not have the leg yet.
    const giveUp = Effect.zipRight(Effect.sync(hangup), audio.close)
    return yield* Effect.zipRight(invite, Deferred.await(outcome)).pipe(
      Effect.onInterrupt(() => giveUp),
      Effect.tapError(() => audio.close)
    )
  })
