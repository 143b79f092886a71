import { Agents } from "@svc/agents/Agents"
import { NodeLease } from "@svc/cluster/NodeLease"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { Providers } from "@svc/providers/Providers"
import type { IncomingCall, RejectCause, Telephony } from "@svc/providers/Telephony"
import { Cause, type Context, Effect, Layer, Option, Stream } from "effect"
import { CallLinksRepo } from "../links/CallLinksRepo.ts"
import { CallAdmission, closedLink } from "./CallAdmission.ts"
import { countRejected, type RejectionReason } from "./CallMetrics.ts"
import { LiveCalls } from "./LiveCalls.ts"

/** Accepts the inbound calls of all telephony plugins. */
export const InboundCalls: Layer.Layer<
  never,
  never,
  Agents | PhoneNumbers | NodeLease | Providers | CallAdmission | CallLinksRepo | LiveCalls
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const numbers = yield* PhoneNumbers
    const lease = yield* NodeLease
    const providers = yield* Providers
    const admission = yield* CallAdmission
    const links = yield* CallLinksRepo
    const live = yield* LiveCalls

    const refuse = (
      incoming: IncomingCall,
      reason: RejectionReason,
      text: string,
      cause: RejectCause = "unavailable"
    ): void => {
      countRejected("inbound", reason)
      incoming.reject(cause, text)
    }

    const acceptThroughLink = (
      telephony: Context.Tag.Service<Telephony>,
      incoming: IncomingCall,
      token: string
    ): Effect.Effect<void> =>
      Effect.gen(function* () {
        const link = yield* links.find(token)
        const agent = link === undefined ? null : yield* Effect.orElseSucceed(agents.forCall(link.agent_id), () => null)
        if (link === undefined || agent === null) {
          countRejected("inbound", "no_link")
          return incoming.reject(closedLink.cause, closedLink.reason)
        }
        const { id: node_id, lost } = yield* lease.current
        const { from_number: from, id, metadata, org_id, project_id } = link
        const [number] = yield* numbers.ofAgent(agent.id)
        const owner = yield* admission.admit({
          telephony,
          incoming,
          node_id,
          org_id,
          project_id,
          agent,
          link: { id, from, to: number?.number ?? null, metadata }
        })
        if (owner === undefined) return
        // The network of the page has no numbers; that of the agent's number may.
        yield* live.run({
          connection: incoming,
          agent,
          owner,
          leaseLost: lost,
          metadata,
          telephony: number?.telephony
        })
      })

    const accept = (telephony: Context.Tag.Service<Telephony>, incoming: IncomingCall) =>
      Effect.gen(function* () {
        if (live.isDraining()) return refuse(incoming, "draining", "shutting down")
        if (incoming.link !== undefined) return yield* acceptThroughLink(telephony, incoming, incoming.link)
        const route = yield* numbers.route(incoming.to, telephony.id)
        if (Option.isNone(route)) return refuse(incoming, "no_number", "no such number", "unknown-number")
        const { agent_id, number, org_id, project_id } = route.value
        const agent = agent_id === null ? null : yield* Effect.orElseSucceed(agents.forCall(agent_id), () => null)
        const { id: node_id, lost } = yield* lease.current
        const owner = yield* admission.admit({ telephony, incoming, to: number, node_id, org_id, project_id, agent })
        if (owner !== undefined && agent !== null) {
          yield* live.run({ connection: incoming, agent, owner, leaseLost: lost, telephony: telephony.id })
        }
      }).pipe(
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.failCause(cause)
            : Effect.zipRight(
                Effect.logError(`Call ${incoming.id} of ${telephony.id} could not be accepted`, cause),
                Effect.sync(() => refuse(incoming, "error", "error"))
              )
        )
      )

    for (const telephony of providers.telephony) {
      yield* Effect.forkScoped(
        Stream.runForEach(telephony.incoming, (incoming) => live.fork(accept(telephony, incoming)))
      )
    }
    // While live calls end, new ones are still rejected: the streams are interrupted after the drain.
    yield* Effect.addFinalizer(() => live.drain)
  })
)
