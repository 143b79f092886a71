import { randomBytes } from "node:crypto"
import { type Health, healthy } from "@svc/providers/Health"
import { Deferred, Effect } from "effect"
import { authorized, noCredentials, type SentCredentials } from "./dialog/Account.ts"
import type { AgentEvent } from "./dialog/AgentEffect.ts"
import type { Request } from "./message/Message.ts"
import * as Message from "./message/Message.ts"
import * as Uri from "./message/Uri.ts"
import type { Signaling } from "./Signaling.ts"
import { addressAt, type Trunk } from "./Trunk.ts"
import { adviceOf, advised, unreachedText } from "./TrunkAdvice.ts"

/** How long a trunk may take to answer. */
const deadline = "10 seconds"

const random = (): string => randomBytes(16).toString("hex")

/** Asks trunks with OPTIONS (RFC 3261, 11) whether they are there and take our password. */
export interface TrunkProbe {
  readonly ask: (trunk: Trunk) => Effect.Effect<Health>
  /** What the user agent reports of requests outside of calls. */
  readonly on: (event: AgentEvent) => void
}

const optionsFor = (trunk: Trunk): Request => ({
  _tag: "Request",
  method: "OPTIONS",
  uri: Uri.text({ ...trunk.uri, user: undefined }),
  headers: [
    { name: "max-forwards", value: "70" },
    { name: "from", value: `<${addressAt(trunk, trunk.account?.username)}>;tag=${random().slice(0, 16)}` },
    { name: "to", value: `<${addressAt(trunk, undefined)}>` },
    { name: "call-id", value: random() },
    { name: "cseq", value: "1 OPTIONS" },
    { name: "accept", value: "application/sdp" }
  ],
  body: Message.noBody
})

export const make = (signaling: () => Signaling): TrunkProbe => {
  interface Asked {
    readonly trunk: Trunk
    readonly answer: Deferred.Deferred<Health>
    readonly credentials: SentCredentials
  }
  const pending = new Map<string, Asked>()
  const failedWith = (trunk: Trunk, what: string, status: number, isUnreached: boolean): Health => ({
    healthy: false,
    reason: advised(`the trunk of ${trunk.variable}_URI ${what}`, adviceOf(trunk, status, isUnreached))
  })
  return {
    ask: (trunk) =>
      Effect.gen(function* () {
        const owner = `options ${random()}`
        const answer = yield* Deferred.make<Health>()
        pending.set(owner, { trunk, answer, credentials: noCredentials })
        const { agent, perform } = signaling()
        perform(agent.request(owner, optionsFor(trunk)))
        return yield* Deferred.await(answer).pipe(
          Effect.timeoutTo({
            duration: deadline,
            onSuccess: (health: Health) => health,
            onTimeout: () => failedWith(trunk, "does not answer", 408, true)
          }),
          Effect.ensuring(Effect.sync(() => pending.delete(owner)))
        )
      }),
    on: (event) => {
      if (event._tag !== "Response" && event._tag !== "Failed") return
      const asked = pending.get(event.call)
      if (asked === undefined) return
      const { answer, trunk } = asked
      const done = (health: Health): void => Deferred.unsafeDone(answer, Effect.succeed(health))
      if (event._tag === "Failed") {
        const text = unreachedText(trunk, event.reason, signaling().problemOf(event.call))
        done(failedWith(trunk, `did not answer OPTIONS: ${text}`, 503, true))
        return
      }
      const { reason, status } = event.response
      if (status < 200) return
      const { agent, perform } = signaling()
      const isChallenge = status === 401 || status === 407
      const number = (Message.cseq(event.sent)?.number ?? 0) + 1
      const given = { account: trunk.account, salt: random(), credentials: asked.credentials }
      const authenticated = isChallenge ? authorized(given, event.sent, event.response, number) : undefined
      if (authenticated !== undefined) {
        const [again, credentials] = authenticated
        pending.set(event.call, { ...asked, credentials })
        perform(agent.request(event.call, again))
      }
      // It is there. Without a user name, only calls show whether it requires one.
      else if ((isChallenge && trunk.account !== undefined) || status === 503) {
        done(failedWith(trunk, `answers OPTIONS with ${`${status} ${reason}`.trim()}`, status, false))
      } else done(healthy)
    }
  }
}
