import type { AudioFormat } from "@svc/providers/Audio"
import type { HostLog } from "@svc/providers/Host"
import { type CallLeg, DialFailed, type DialProgress, type Outbound, type OutgoingCall } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { Binding } from "./auth/Registrar.ts"
import type { CallContext } from "./CallContext.ts"
import { headerName } from "./message/Message.ts"
import { isToken } from "./message/Syntax.ts"
import * as Uri from "./message/Uri.ts"
import * as OutgoingAttempt from "./OutgoingAttempt.ts"
import { routeTo } from "./PhoneTargets.ts"
import { addressAt, inOrderFor, type Trunk, targetAt } from "./Trunk.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/** The headers that a call may add: those of applications, and User-to-User (RFC 7433). All others are ours. */
const mayAdd = (name: string): boolean => isToken(name) && (name.startsWith("x-") || name === "user-to-user")

const headersFor = (call: OutgoingCall, from: string) => [
  { name: "p-asserted-identity", value: `<${from}>` },
  ...Object.entries(call.headers ?? {}).flatMap(([written, value]) => {
    const name = headerName(written)
    return mayAdd(name) ? [{ name, value }] : []
  })
]

const isSame = (one: AudioFormat, other: AudioFormat): boolean =>
  one.encoding === other.encoding && one.sampleRate === other.sampleRate

const failed = (reason: string): DialFailed => new DialFailed({ outcome: "failed", reason })

const noTrunk = new DialFailed({
  outcome: "failed",
  reason: "no trunk is configured",
  advice: "set SVC_SIP_TRUNK_URI"
})

/** Not a call without an answer: nothing rang. */
const notRegistered = new DialFailed({
  outcome: "failed",
  reason: "the phone is not registered",
  advice: "let it register with its name and password in SVC_SIP_USERS",
  code: "480"
})

/** One route to the called phone. */
interface DialRoute {
  readonly trunk: Trunk
  readonly uri: string
  /** Our address in From. */
  readonly from: string
}

/** Over the trunk of the calling number, then over the others, in the order in which they are tried. */
const overTrunks = ({ trunks }: CallContext, { from, to }: OutgoingCall): ReadonlyArray<DialRoute> =>
  inOrderFor(trunks, from).map((trunk) => ({
    trunk,
    uri: targetAt(trunk, trunk.uri.host, to),
    from: addressAt(trunk, from)
  }))

/** To the phones of a user of ours, the newest first. */
const toPhones = (
  { signaling }: CallContext,
  phones: ReadonlyArray<Binding>,
  call: OutgoingCall
): ReadonlyArray<DialRoute> =>
  phones.map((phone) => {
    const { route: trunk, uri } = routeTo(phone)
    const host = bracketed(signaling.addressFor(phone.peer.address))
    return { trunk, uri, from: Uri.text(Uri.make(host, { user: call.from, port: signaling.port })) }
  })

/** How long a trunk that could not be reached is tried after the others, in ms. */
const downMs = 30_000

/** Places calls over the trunks, and to phones that have registered with us. */
export const make = (context: CallContext, log: HostLog): Outbound => {
  const downUntil = new Map<Trunk, number>()
  /** Trunks that could not be reached come last. */
  const upFirst = (routes: ReadonlyArray<DialRoute>): ReadonlyArray<DialRoute> => {
    const now = context.signaling.now()
    const isDown = ({ trunk }: DialRoute): number => (now < (downUntil.get(trunk) ?? 0) ? 1 : 0)
    return routes.toSorted((one, other) => isDown(one) - isDown(other))
  }

  const over = (
    [route, ...others]: ReadonlyArray<DialRoute>,
    call: OutgoingCall,
    progress: DialProgress | undefined
  ): Effect.Effect<CallLeg, DialFailed> => {
    if (route === undefined) return Effect.fail(noTrunk)
    const { from, trunk, uri } = route
    const usable = context.codecs.filter(({ format }) => call.formats.some((each) => isSame(each, format)))
    const [codec, ...more] = usable
    if (codec === undefined) return Effect.fail(failed("no audio format is possible"))
    if (Uri.parse(uri) === undefined) return Effect.fail(failed(`${call.to} is no address for a call`))
    const hasAlternative = others.length > 0
    const headers = headersFor(call, from)
    const attempt = { trunk, from, hasAlternative, uri, headers, codecs: [codec, ...more] } as const
    return OutgoingAttempt.place(context, call, attempt, progress).pipe(
      Effect.catchAll(({ failure, canTryNextTrunk, isUnreached }) => {
        if (isUnreached && context.trunks.includes(trunk)) downUntil.set(trunk, context.signaling.now() + downMs)
        const [next] = others
        if (!canTryNextTrunk || next === undefined) return Effect.fail(failure)
        log.warning(`SIP: the call goes on to ${next.uri}, because ${uri} failed: ${failure.reason}`, {
          call_id: call.callId
        })
        return over(others, call, progress)
      })
    )
  }
  return {
    dial: (call, progress) => {
      const phones = context.phones?.at(call.to)
      if (phones === undefined) return over(upFirst(overTrunks(context, call)), call, progress)
      const [first] = phones
      return first === undefined ? Effect.fail(notRegistered) : over(toPhones(context, phones, call), call, progress)
    }
  }
}
