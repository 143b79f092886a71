import { randomBytes } from "node:crypto"
import type { AudioFormat } from "@svc/providers/Audio"
import { type CallLeg, DialFailed, type DialProgress, type Outbound, type OutgoingCall } from "@svc/providers/Telephony"
import { Deferred, Effect } from "effect"
import { type CallContext, callOptions } from "./CallContext.ts"
import * as CallMedia from "./CallMedia.ts"
import { outcomeOf } from "./CallParty.ts"
import type { CallEvent } from "./dialog/Output.ts"
import { LegEvents } from "./LegEvents.ts"
import { contact } from "./message/Contact.ts"
import { isToken } from "./message/Syntax.ts"
import * as Uri from "./message/Uri.ts"
import { SipCall } from "./SipCall.ts"
import { addressAt, type Trunk, targetAt, transportOf } from "./Trunk.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/** Headers of ours that a call must not replace. */
const reserved: ReadonlySet<string> = new Set(
  "via from to call-id cseq contact max-forwards route record-route content-type content-length require authorization proxy-authorization allow supported session-expires min-se".split(
    " "
  )
)

const headersFor = (call: OutgoingCall, trunk: Trunk) => [
  { name: "p-asserted-identity", value: `<${addressAt(trunk, call.from)}>` },
  ...Object.entries(call.headers ?? {}).flatMap(([written, value]) => {
    const name = written.toLowerCase()
    return isToken(name) && !reserved.has(name) && name !== "p-asserted-identity" ? [{ name, value }] : []
  })
]

const isSame = (one: AudioFormat, other: AudioFormat): boolean =>
  one.encoding === other.encoding && one.sampleRate === other.sampleRate

/** The address by which the peer will be seen: that of the trunk, where it is one already. */
const peerOf = ({ uri }: Trunk): string => uri.host.replace(/^\[|\]$/g, "")

/** Places calls through the trunk. */
export const make = (context: CallContext, trunk: Trunk): Outbound => {
  const { codecs, listeners, media, signaling } = context

  const place = (call: OutgoingCall, progress: DialProgress | undefined): Effect.Effect<CallLeg, DialFailed> =>
    Effect.gen(function* () {
      const id = randomBytes(16).toString("hex")
      const usable = codecs.filter(({ format }) => call.formats.some((each) => isSame(each, format)))
      const [codec] = usable
      const uri = targetAt(trunk, trunk.uri.host, call.to)
      if (codec === undefined || Uri.parse(uri) === undefined) {
        const reason = codec === undefined ? "no audio format is possible" : `${call.to} is no address for a call`
        return yield* new DialFailed({ outcome: "failed", reason })
      }
      const events = new LegEvents()
      const outcome = yield* Deferred.make<CallLeg, DialFailed>()
      let isAnswered = false
      let hasRung = false
      const emit: typeof events.emit = (event) => {
        if (isAnswered) events.emit(event)
        else if (event._tag === "Audio" && event.payload.length > 0)
          progress?.onEarlyMedia?.(event.payload, codec.format)
      }
      const address = signaling.addressFor(peerOf(trunk))
      const audio = yield* CallMedia.open(media, emit, {
        codecs: usable,
        codec,
        address,
        sessionId: String(Number.parseInt(id.slice(0, 8), 16)),
        source: undefined
      }).pipe(Effect.mapError(({ message }) => new DialFailed({ outcome: "failed", reason: message })))
      const sipCall = new SipCall(audio, events, {
        ...callOptions(context, id, peerOf(trunk), call.from),
        command: (command) => signaling.perform(signaling.agent.command(id, command, signaling.now()))
      })
      const refuse = (status: number, reason: string): void => {
        const text = reason === "" ? `the trunk answered ${status}` : reason
        Deferred.unsafeDone(outcome, new DialFailed({ outcome: outcomeOf(status), reason: text, code: String(status) }))
      }
      const hangup = (): void =>
        signaling.perform(signaling.agent.command(id, { _tag: "Hangup", reason: "given up" }, signaling.now()))
      const on = (event: CallEvent): void => {
        if (event._tag === "Refused" || event._tag === "Ended") listeners.delete(id)
        if (isAnswered) sipCall.on(event)
        else if (event._tag === "Ringing") {
          if (event.sdp !== undefined) audio.accept(event.sdp)
          if (!hasRung && event.status === 180) progress?.onRinging?.()
          hasRung = hasRung || event.status === 180
        } else if (event._tag === "Refused") refuse(event.status, event.reason)
        else if (event._tag === "Answered") {
          isAnswered = audio.accept(event.sdp)
          const leg = { ...sipCall.leg, carrierCallId: signaling.agent.callId(id) ?? id }
          if (isAnswered) {
            sipCall.watch()
            Deferred.unsafeDone(outcome, Effect.succeed(leg))
          } else {
            hangup()
            refuse(488, "the phone's answer has no audio in common with us")
          }
        } else if (event._tag === "Ended") refuse(500, "the call ended as it was answered")
      }
      listeners.set(id, on)
      const transport = transportOf(trunk)
      const ours = contact({
        transport,
        host: bracketed(address),
        port: signaling.portOf(transport),
        user: call.from,
        isSips: trunk.uri.scheme === "sips"
      })
      // Also after the answer: the engine does not have the leg yet.
      const giveUp = Effect.zipRight(Effect.sync(hangup), audio.close)
      return yield* Effect.zipRight(
        Effect.sync(() =>
          signaling.perform(
            signaling.agent.invite(
              id,
              {
                uri,
                from: `<${addressAt(trunk, call.from)}>`,
                to: `<${uri}>`,
                contact: ours,
                headers: headersFor(call, trunk),
                routes: [],
                sdp: audio.offer(),
                account: trunk.account
              },
              signaling.now()
            )
          )
        ),
        Deferred.await(outcome)
      ).pipe(
        Effect.onInterrupt(() => giveUp),
        Effect.tapError(() => audio.close)
      )
    })

  return { dial: (call, progress) => place(call, progress) }
}
