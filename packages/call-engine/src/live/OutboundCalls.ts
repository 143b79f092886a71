import { Agents } from "@svc/agents/Agents"
import type { Call } from "@svc/api/calls/Call"
import { ConcurrentCallLimitExceeded, OutboundNotSupported, type PlaceCallRequest } from "@svc/api/calls/PlaceCall"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { InsufficientCredits, Unavailable, ValidationError } from "@svc/api/VoiceError"
import { NodeLease } from "@svc/cluster/NodeLease"
import { metadataProblem } from "@svc/conversation/answers/MetadataLimits"
import { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { legFormats } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import type { CallLeg, DialFailed, DialProgress } from "@svc/providers/Telephony"
import { Context, Effect, Layer, Option } from "effect"
import { Calls } from "../record/Calls.ts"
import type { CallOwner } from "../record/CallsRepo.ts"
import { CallAdmission, type OutboundCall, type Refusal } from "./CallAdmission.ts"
import { countRejected } from "./CallMetrics.ts"
import { LiveCalls } from "./LiveCalls.ts"

/** Seconds in `Retry-After` when all slots are taken. */
const retryAfter = 5

/** An outbound call before its admission. */
interface PlacedCall extends Omit<OutboundCall, "node_id"> {
  readonly ring_timeout_seconds: number
  /** Rings the number. `callId` is the public id. */
  readonly dial: (callId: string, progress: DialProgress) => Effect.Effect<CallLeg, DialFailed>
}

/** Places the calls of agents. */
export class OutboundCalls extends Context.Tag("@svc/call-engine/OutboundCalls")<
  OutboundCalls,
  {
    /** Starts ringing a number and returns the call with status `ringing`. */
    readonly place: (
      owner: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
      request: PlaceCallRequest
    ) => Effect.Effect<
      Call,
      ValidationError | OutboundNotSupported | InsufficientCredits | ConcurrentCallLimitExceeded | Unavailable
    >
  }
>() {
  static readonly layer: Layer.Layer<
    OutboundCalls,
    never,
    Agents | OutboundNumbers | PhoneNumbers | NodeLease | Providers | CallAdmission | LiveCalls | Calls
  > = Layer.effect(
    OutboundCalls,
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const reachable = yield* OutboundNumbers
      const { telephony } = yield* Providers
      const lease = yield* NodeLease
      const admission = yield* CallAdmission
      const live = yield* LiveCalls
      const calls = yield* Calls
      const diallingProviders = telephony.flatMap(({ id, outbound }) => (outbound === undefined ? [] : [id]))

      const agentOf = (project: PrincipalProject, id: string | number) =>
        Effect.mapError(
          Effect.flatMap(agents.get(project, String(id)), (agent) => agents.forCall(agent.id)),
          () => unknownAgent
        )

      /** The requested number, or the agent's oldest, preferring a number of a network that can dial. */
      const callingNumber = (project: PrincipalProject, agent: number, wanted: string | undefined) =>
        wanted === undefined
          ? Effect.map(
              numbers.ofAgent(agent),
              (own) => own.find((number) => diallingProviders.includes(number.telephony)) ?? own[0]
            )
          : Effect.map(numbers.ofProject(project.id, wanted), Option.getOrUndefined)

      /**
       * Admits a call and dials. Returns the result of `read`, which gets the record before the number rings, or why
       * the call was not placed.
       */
      const dial = <A>(
        call: PlacedCall,
        read: (owner: CallOwner) => Effect.Effect<A>
      ): Effect.Effect<{ readonly value: A } | Refusal | "draining"> =>
        Effect.gen(function* () {
          if (live.isDraining()) {
            countRejected("outbound", "draining")
            return "draining" as const
          }
          const { id: node_id, lost } = yield* lease.current
          const owner = yield* admission.admitOutbound({ ...call, node_id })
          if (typeof owner === "string") return owner
          const value = yield* Effect.exit(read(owner))
          const { agent, metadata, ring_timeout_seconds } = call
          let carrierCallId: string | undefined
          const progress: DialProgress = {
            onPlaced: (id) => {
              carrierCallId = id
            }
          }
          const running = live.run({
            connection: { dial: call.dial(owner.public_id, progress), carrierCallId: () => carrierCallId },
            agent,
            owner,
            leaseLost: lost,
            telephony: call.telephony,
            outbound: { ring_timeout_seconds, metadata }
          })
          yield* live.fork(Effect.interruptible(running))
          return { value: yield* value }
          // A client that disconnects must not leave a record without its call.
        }).pipe(Effect.uninterruptible)

      const place = Effect.fn("OutboundCalls.place")(function* (
        { org, project }: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
        request: PlaceCallRequest
      ) {
        const agent = yield* agentOf(project, request.agent_id)
        const problem = request.metadata === undefined ? null : metadataProblem(request.metadata)
        if (problem !== null) return yield* ValidationError.field("metadata", problem)
        const refusal = reachable.refusal(org.id, request.to_number)
        if (refusal !== null) {
          countRejected("outbound", "not_allowed")
          return yield* ValidationError.field("to_number", `to_number ${refusal}`)
        }
        const from = yield* callingNumber(project, agent.id, request.from_number)
        if (from === undefined) {
          return yield* ValidationError.field(
            "from_number",
            request.from_number === undefined
              ? "from_number is required: the agent has no phone number"
              : "from_number must be a phone number of this project"
          )
        }
        const network = telephony.find(({ id }) => id === from.telephony)
        if (network?.outbound === undefined) return yield* new OutboundNotSupported()
        const { outbound } = network
        const placed = yield* dial(
          {
            agent,
            org_id: org.id,
            telephony: network.id,
            from: from.number,
            to: request.to_number,
            metadata: request.metadata ?? {},
            ring_timeout_seconds: request.ring_timeout_seconds,
            dial: (callId, progress) =>
              outbound.dial({ callId, from: from.number, to: request.to_number, formats: legFormats }, progress)
          },
          ({ public_id }) => Effect.orDie(calls.get(project, public_id))
        )
        switch (placed) {
          case "no-agent":
            return yield* unknownAgent
          case "paused":
            return yield* new InsufficientCredits()
          case "full":
            return yield* new ConcurrentCallLimitExceeded({ retryAfter })
          case "draining":
            return yield* new Unavailable()
          default:
            return placed.value
        }
      })
      return { place }
    })
  )
}

const unknownAgent = ValidationError.field("agent_id", "agent_id must be the id of an agent of this project")
