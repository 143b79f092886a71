import type { AudioFormat } from "@svc/providers/Audio"
import type { HostLog } from "@svc/providers/Host"
import { type CallLeg, DialFailed, type DialProgress, type Outbound, type OutgoingCall } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { CallContext } from "./CallContext.ts"
import { isToken } from "./message/Syntax.ts"
import * as Uri from "./message/Uri.ts"
import * as OutgoingAttempt from "./OutgoingAttempt.ts"
import { addressAt, inOrderFor, type Trunk, targetAt } from "./Trunk.ts"

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

const failed = (reason: string): DialFailed => new DialFailed({ outcome: "failed", reason })

/** Places calls over the trunk of the calling number, and over the next one while a trunk is not there. */
export const make = (context: CallContext, log: HostLog): Outbound => {
  const over = (
    [trunk, ...others]: ReadonlyArray<Trunk>,
    call: OutgoingCall,
    progress: DialProgress | undefined
  ): Effect.Effect<CallLeg, DialFailed> => {
    if (trunk === undefined) return Effect.fail(failed("no trunk is configured; set SVC_SIP_TRUNK_URI"))
    const usable = context.codecs.filter(({ format }) => call.formats.some((each) => isSame(each, format)))
    const [codec, ...more] = usable
    const uri = targetAt(trunk, trunk.uri.host, call.to)
    if (codec === undefined) return Effect.fail(failed("no audio format is possible"))
    if (Uri.parse(uri) === undefined) return Effect.fail(failed(`${call.to} is no address for a call`))
    const hasAlternative = others.length > 0
    const attempt = { trunk, hasAlternative, uri, headers: headersFor(call, trunk), codecs: [codec, ...more] } as const
    return OutgoingAttempt.place(context, call, attempt, progress).pipe(
      Effect.catchAll(({ failure, isElsewhere }) => {
        const [next] = others
        if (!isElsewhere || next === undefined) return Effect.fail(failure)
        log.warning(
          `SIP: the call goes over ${next.variable}_URI, because ${trunk.variable}_URI failed: ${failure.reason}`,
          { call_id: call.callId }
        )
        return over(others, call, progress)
      })
    )
  }
  return { dial: (call, progress) => over(inOrderFor(context.trunks, call.from), call, progress) }
}
