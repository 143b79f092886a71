import type { AudioFormat } from "@svc/providers/Audio"
import { LegEvents } from "@svc/providers/LegEvents"
import { CallGone, type IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import { obstacleText } from "./AudioAdvice.ts"
import { type CallContext, callOptions } from "./CallContext.ts"
import * as CallMedia from "./CallMedia.ts"
import { calledOf, callerOf, headersOf, refusalOf } from "./CallParty.ts"
import type { Codec } from "./Codec.ts"
import * as Inbound from "./dialog/Inbound.ts"
import type { CallEvent } from "./dialog/Output.ts"
import { EarlyOffer } from "./EarlyOffer.ts"
import type { Request } from "./message/Message.ts"
import * as Uri from "./message/Uri.ts"
import { familyOf } from "./rtp/MediaAddress.ts"
import { SipCall } from "./SipCall.ts"
import * as Description from "./sdp/Description.ts"
import * as Negotiation from "./sdp/Negotiation.ts"
import { obstacleIn } from "./sdp/Obstacle.ts"
import { warningOf } from "./sdp/Warning.ts"
import type { Peer } from "./transaction/Peer.ts"
import { isUnspecified } from "./transport/LocalAddress.ts"

interface Arrived {
  readonly call: string
  readonly request: Request
  readonly peer: Peer
  /** The user whose password the caller's phone has; undefined: its address is allowed. */
  readonly user?: string | undefined
}

const matches = (one: AudioFormat, other: AudioFormat): boolean =>
  one.encoding === other.encoding && one.sampleRate === other.sampleRate

/** The offer of an INVITE: `none` when it has no body. */
const offerOf = (request: Request): Description.Description | "none" | "malformed" =>
  request.body.length === 0 ? "none" : (Description.parse(request.body) ?? "malformed")

const userOf = (text: string): string | undefined => {
  const uri = Uri.parse(text)
  return uri?._tag === "Sip" ? uri.user : undefined
}

/** The end of a call that the engine has answered while its 200 waited for a PRACK. */
const endedBeforeAck = ({
  isByCaller,
  reason
}: Extract<CallEvent, { readonly _tag: "Canceled" }>): Extract<CallEvent, { readonly _tag: "Ended" }> => ({
  _tag: "Ended",
  ending: { cause: isByCaller ? "hangup" : "failed", reason }
})

/** Takes an INVITE: gives the call to the engine, or refuses it when no audio is possible. */
export const take = (
  context: CallContext,
  { call, peer, request, user: phoneUser }: Arrived,
  offer: (incoming: IncomingCall) => void
): void => {
  const { codecs, listeners, media, signaling } = context
  const command = (given: Inbound.Command): void =>
    signaling.perform(signaling.agent.command(call, given, signaling.now()))
  const warnRefused = (why: string, status = 488): void =>
    context.log.warning(`SIP: a call from ${peer.address} was refused with ${status}, because ${why}`)
  const offered = offerOf(request)
  if (offered === "malformed") {
    command({ _tag: "Reject", status: 400, reason: "Malformed session description" })
    return
  }
  const encryption = context.encryptionOver(peer.transport)
  const wanted: Negotiation.Wanted = { codecs, direction: "sendrecv", encryption, families: media.families }
  const possible = offered === "none" ? undefined : Negotiation.agree(offered, wanted)
  if (offered !== "none" && possible === undefined) {
    const obstacle = obstacleIn(offered, wanted)
    warnRefused(`it offers ${obstacleText(obstacle, { codecs, encryption })}`)
    command({ _tag: "Reject", status: 488, reason: "Not Acceptable Here", warning: warningOf(obstacle) })
    return
  }
  /**
   * Ours in session descriptions: the one that the signaling reaches, since the address in the offer of a phone behind NAT
   * may be that of a network of ours. The offer counts only where its family is another than that of the signaling.
   */
  const addressOfMedia = (): string => {
    const reached = signaling.addressFor(peer.address)
    const offeredAddress = possible?.remote?.address
    if (offeredAddress === undefined || familyOf(offeredAddress) === familyOf(peer.address)) return reached
    const own = signaling.addressFor(offeredAddress)
    return isUnspecified(own) ? reached : own
  }

  const canceled = Deferred.unsafeMake<void>(FiberId.none)
  let state: "offered" | "answering" | "answered" | "over" = "offered"
  let sipCall: SipCall | undefined
  let early: Array<CallEvent> = []
  let earlyOffer: EarlyOffer | undefined
  /** Why the call has failed before the engine answered it. */
  let failure: string | undefined
  /**
   * `reason`: the call has failed, which the engine sees when it answers; undefined: it need not answer any more, because
   * the caller hung up or has waited too long.
   */
  const finish = (reason?: string): void => {
    if (state === "over") return
    state = "over"
    failure = reason
    earlyOffer?.close()
    if (reason === undefined) Deferred.unsafeDone(canceled, Effect.void)
  }
  listeners.set(call, (event) => {
    if (event._tag === "Canceled" || event._tag === "Ended") listeners.delete(call)
    if (sipCall !== undefined) sipCall.on(event._tag === "Canceled" ? endedBeforeAck(event) : event)
    else if (event._tag === "EarlyAnswered") onEarlyAnswer(event.sdp)
    else if (event._tag === "Canceled") finish(event.isByCaller || earlyOffer === undefined ? undefined : event.reason)
    else if (event._tag === "Ended") finish()
    else early = [...early, event].slice(-16)
  })
  const callId = signaling.agent.callId(call) ?? call
  const trunk = context.trunkAt(peer.address, userOf(request.uri))
  const user = calledOf(request, trunk?.account?.username)

  const codecsOf = (formats: ReadonlyArray<AudioFormat>): ReadonlyArray<Codec> =>
    codecs.filter(({ format }) => formats.some((each) => matches(each, format)))

  /** The codec of the leg: the caller's first one that the engine can take. */
  const chosen = (formats: ReadonlyArray<AudioFormat>): ReadonlyArray<Codec> => {
    const usable = codecsOf(formats)
    if (offered === "none") return usable
    const agreed = Negotiation.agree(offered, { ...wanted, codecs: usable })
    return agreed === undefined ? [] : [agreed.codec, ...usable.filter((codec) => codec !== agreed.codec)]
  }

  const reject = (status: number, reason: string, warning?: string): void => {
    if (state !== "offered" && state !== "answering") return
    state = "over"
    earlyOffer?.close()
    listeners.delete(call)
    command({ _tag: "Reject", status, reason, ...(warning === undefined ? {} : { warning }) })
  }

  /** Refuses a call that cannot have audio: `status` 488 for its session description, 503 when no port is free. */
  const refuse = (why: string, warning: string | undefined, status: 488 | 503 = 488): void => {
    if (state !== "offered" && state !== "answering") return
    warnRefused(why, status)
    reject(status, status === 488 ? "Not Acceptable Here" : "Service Unavailable", warning)
    failure = why
  }

  /** What the engine gets for a call that is over before its answer. */
  const over = (): CallGone =>
    failure === undefined
      ? new CallGone({ reason: "the caller hung up" })
      : new CallGone({ reason: failure, failed: true })

  const openAudio = (usable: ReadonlyArray<Codec>, codec: Codec, emit: LegEvents["emit"]) =>
    CallMedia.open(media, emit, {
      codecs: usable,
      codec,
      address: addressOfMedia(),
      sessionId: String(Number.parseInt(call.slice(0, 8), 16)),
      source: peer.address,
      encryption,
      awaitsAck: true
    })

  /** The 180 has our offer, and needs the ports of the audio. */
  const ringWithOffer = (): void => {
    const [codec] = codecs
    if (codec === undefined || earlyOffer !== undefined) return
    const isAnswered = (): boolean => state === "answered"
    earlyOffer = EarlyOffer.open(
      context.fork,
      (emit) => openAudio(codecs, codec, emit),
      isAnswered,
      (sdp) => {
        if (state === "offered" || state === "answering") command({ _tag: "Ring", sdp })
      }
    )
  }

  /** The answer to our offer came before that of the engine. */
  const onEarlyAnswer = (sdp: Uint8Array): void => {
    const audio = earlyOffer?.audio
    if (audio === undefined || audio.accept(sdp)) return
    refuse(`the answer in the PRACK has ${audio.obstacleText}`, audio.warning)
  }

  const isTrusted = context.isTrusted(peer.address)
  const phone = phoneUser === undefined ? undefined : { user: phoneUser, number: context.phones?.numberOf(phoneUser) }
  const { from, name } = callerOf(request, isTrusted, phone)
  offer({
    id: callId,
    from,
    ...(name === undefined ? {} : { callerName: name }),
    to: user,
    headers: headersOf(request, isTrusted),
    ringing: () => {
      if (state !== "offered") return
      if (Inbound.ringsWithOffer(request)) ringWithOffer()
      else command({ _tag: "Ring" })
    },
    answer: ({ formats }) =>
      Effect.gen(function* () {
        if (state === "over") return yield* over()
        if (state !== "offered") return yield* new CallGone({ reason: "the call is answered already" })
        const usable = chosen(formats)
        // The audio that was offered before has the first codec.
        const [codec] = earlyOffer === undefined ? usable : usable.filter((each) => each === codecs[0])
        if (codec === undefined) {
          if (offered === "none") refuse("our offer has none of the audio formats of the agent", undefined)
          else {
            const few = codecsOf(formats)
            const obstacle = obstacleIn(offered, { ...wanted, codecs: few })
            refuse(`it offers ${obstacleText(obstacle, { codecs: few, encryption })}`, warningOf(obstacle))
          }
          return yield* over()
        }
        state = "answering"
        const events = earlyOffer?.events ?? new LegEvents()
        const opened = yield* Effect.either(earlyOffer?.opened ?? openAudio(usable, codec, events.emit))
        if (opened._tag === "Left") {
          refuse(opened.left.message, undefined, 503)
          return yield* over()
        }
        const audio = opened.right
        const sdp = offered === "none" ? (earlyOffer?.sdp ?? audio.offer()) : audio.answer(request.body)
        // The caller may have hung up, or the call failed, while the ports were opened.
        const isOver = (): boolean => state === "over"
        if (isOver() || sdp === undefined) {
          yield* audio.close
          return yield* over()
        }
        state = "answered"
        sipCall = new SipCall(audio, events, callOptions(context, { call, peer: peer.address, trunk, user }))
        command({ _tag: "Answer", sdp, account: context.accountAt(peer.address, userOf(request.uri)) })
        for (const event of early) sipCall.on(event)
        sipCall.watch()
        const { leg } = sipCall
        context.joinable.add(leg, { call, sipCall })
        return leg
      }),
    reject: (cause) => {
      const { reason, status } = refusalOf(cause)
      reject(status, reason)
    },
    canceled: Deferred.await(canceled)
  })
}
