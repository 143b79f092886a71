import { Agents } from "@svc/agents/Agents"
import type { Call } from "@svc/api/calls/Call"
import { ConcurrentCallLimitExceeded, OutboundNotSupported, type PlaceCallRequest } from "@svc/api/calls/PlaceCall"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { InsufficientCredits, Unavailable, ValidationError } from "@svc/api/VoiceError"
import { metadataProblem } from "@svc/conversation/answers/MetadataLimits"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { mulaw8k } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer, Option } from "effect"
import { Calls } from "../record/Calls.ts"
import { CallEngine } from "./CallEngine.ts"

/** Seconds after which it may be tried again when all slots are taken. */
const retryAfter = 5

/** Calls that agents place (decisions §4.18). */
export class OutboundCalls extends Context.Tag("@svc/call-engine/OutboundCalls")<
  OutboundCalls,
  {
    /** Begins to ring a number. Gives the call as it is then: `ringing`. */
    readonly place: (
      owner: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
      request: PlaceCallRequest
    ) => Effect.Effect<
      Call,
      ValidationError | OutboundNotSupported | InsufficientCredits | ConcurrentCallLimitExceeded | Unavailable
    >
  }
>() {
  static readonly layer: Layer.Layer<OutboundCalls, never, Agents | PhoneNumbers | Providers | CallEngine | Calls> =
    Layer.effect(
      OutboundCalls,
      Effect.gen(function* () {
        const agents = yield* Agents
        const numbers = yield* PhoneNumbers
        const { telephony } = yield* Providers
        const engine = yield* CallEngine
        const calls = yield* Calls
        const dialling = telephony.flatMap(({ id, outbound }) => (outbound === undefined ? [] : [id]))

        const agentOf = (project: PrincipalProject, id: string | number) =>
          Effect.mapError(
            Effect.flatMap(agents.get(project, String(id)), (agent) => agents.forCall(agent.id)),
            () => unknownAgent
          )

        /** The number that was asked for, or the agent's oldest, one that can dial first. */
        const callerOf = (project: PrincipalProject, agent: number, wanted: string | undefined) =>
          wanted === undefined
            ? Effect.map(
                numbers.ofAgent(agent),
                (own) => own.find((number) => dialling.includes(number.telephony)) ?? own[0]
              )
            : Effect.map(numbers.ofProject(project.id, wanted), Option.getOrUndefined)

        const place = Effect.fn("OutboundCalls.place")(function* (
          { org, project }: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
          request: PlaceCallRequest
        ) {
          const agent = yield* agentOf(project, request.agent_id)
          const problem = request.metadata === undefined ? null : metadataProblem(request.metadata)
          if (problem !== null) return yield* ValidationError.field("metadata", problem)
          const from = yield* callerOf(project, agent.id, request.from_number)
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
          const placed = yield* engine.place(
            {
              agent,
              org_id: org.id,
              telephony: network.id,
              from: from.number,
              to: request.to_number,
              metadata: request.metadata ?? {},
              ring_timeout_seconds: request.ring_timeout_seconds,
              dial: (callId) => outbound.dial({ callId, from: from.number, to: request.to_number, formats: [mulaw8k] })
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
            case "closing":
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
