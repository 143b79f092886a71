import { Agents, type CallAgent } from "@svc/agents/Agents"
import { NodeLease } from "@svc/cluster/NodeLease"
import type { GatherRules } from "@svc/conversation/answers/GatherRules"
import type { Facts } from "@svc/conversation/Input"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { mulaw8k } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import type { CallLeg, DialFailed, IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Cause, type ConfigError, Context, Deferred, Effect, FiberSet, Layer, Option, Schedule, Stream } from "effect"
import type { Callbacks } from "../agent-server/Callbacks.ts"
import type { Ticker } from "../media/Ticker.ts"
import type { CallOwner } from "../record/CallsRepo.ts"
import { Journal } from "../record/Journal.ts"
import { Settlement } from "../record/Settlement.ts"
import type { Recorder } from "../recording/Recorder.ts"
import { Recordings } from "../recording/Recordings.ts"
import type { CallMessages } from "../session/CallMessages.ts"
import * as CallSession from "../session/CallSession.ts"
import type { Outgoing } from "../session/Direction.ts"
import { sessionServices } from "../session/SessionServices.ts"
import { CallAdmission, type OutboundCall, type Refusal } from "./CallAdmission.ts"
import { Recovery } from "./Recovery.ts"

/** A call that is live in this process. */
interface LiveCall {
  readonly project: number
  readonly session: CallSession.CallSession
  /** Completes when the call's record has been settled. */
  readonly settled: Deferred.Deferred<void>
}

/** A call to be placed. */
export interface PlacedCall extends Omit<OutboundCall, "node_id"> {
  readonly ring_timeout_seconds: number
  /** Rings the number; `callId` is ours. */
  readonly dial: (callId: string) => Effect.Effect<CallLeg, DialFailed>
}

/** The longest that live calls are given to end when the process stops. */
const graceMs = 9_000

/** Takes the calls of all telephony plugins, and holds those that are live in this process. */
export class CallEngine extends Context.Tag("@svc/call-engine/CallEngine")<
  CallEngine,
  {
    /** How many calls are live here. */
    readonly live: Effect.Effect<number>
    /**
     * Places a call. Its record is there, and was shown to `read`, before it rings; what `read` makes of it is returned.
     * Else why it may not be placed; `closing`: no more calls are taken here.
     */
    readonly place: <A>(
      call: PlacedCall,
      read: (owner: CallOwner) => Effect.Effect<A>
    ) => Effect.Effect<{ readonly value: A } | Refusal | "closing">
    /** Takes no more calls, says goodbye to those that are live, and waits (at most 9 s) until they are settled. */
    readonly drain: Effect.Effect<void>
    /** Ends a call by the API and waits until its record is settled. False when it is not in progress here. */
    readonly end: (callId: string) => Effect.Effect<boolean>
    /** Asks the caller of a call for digits; `not-here`: no call of that id is live here. Of many at once, one is accepted. */
    readonly gather: (
      callId: string,
      rules: GatherRules
    ) => Effect.Effect<ReturnType<CallSession.CallSession["gather"]> | "not-here">
    /**
     * Asks for the transfer of a call, and waits for its outcome: null, or why it failed. `not-here`: no call of that id
     * is live here. Of many at once, one is accepted.
     */
    readonly transfer: (
      callId: string,
      destination: string
    ) => Effect.Effect<{ readonly failure: string | null } | "already-active" | "not-in-progress" | "not-here">
    /** The projects that have calls which are live here. */
    readonly projects: Effect.Effect<ReadonlyArray<number>>
    /**
     * Ends the live calls of these projects as the API would; one that has not been answered fails. Does not wait, and
     * may be asked again.
     */
    readonly endOf: (projects: ReadonlyArray<number>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<
    CallEngine,
    ConfigError.ConfigError,
    | Agents
    | PhoneNumbers
    | NodeLease
    | Providers
    | Callbacks
    | CallMessages
    | Journal
    | Ticker
    | CallAdmission
    | Settlement
    | Recovery
    | Recorder
    | Recordings
  > = Layer.scoped(
    CallEngine,
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const lease = yield* NodeLease
      const providers = yield* Providers
      const admission = yield* CallAdmission
      const settlement = yield* Settlement
      const journal = yield* Journal
      const recovery = yield* Recovery
      const recordings = yield* Recordings
      const live = new Map<string, LiveCall>()
      let closing = false

      const calls = yield* FiberSet.make<void>()
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const services = yield* sessionServices((effect) => void background(effect))

      const admit = (telephony: Context.Tag.Service<Telephony>, incoming: IncomingCall) =>
        Effect.gen(function* () {
          if (closing) return incoming.reject("unavailable", "shutting down")
          const route = yield* numbers.route(incoming.to, telephony.id)
          if (Option.isNone(route)) return incoming.reject("unavailable", "no such number")
          const { agent_id, org_id, project_id } = route.value
          const agent = agent_id === null ? null : yield* Effect.orElseSucceed(agents.forCall(agent_id), () => null)
          const { id: node_id, lost } = yield* lease.current
          const owner = yield* admission.admit({ telephony, incoming, node_id, org_id, project_id, agent })
          if (owner !== undefined && agent !== null) yield* hold(incoming, agent, owner, lost)
        }).pipe(
          Effect.catchAllCause((cause) =>
            Cause.isInterruptedOnly(cause)
              ? Effect.failCause(cause)
              : Effect.zipRight(
                  Effect.logError(`Call ${incoming.id} of ${telephony.id} could not be taken`, cause),
                  Effect.sync(() => incoming.reject("unavailable", "error"))
                )
          )
        )

      /** A call from its record to its settlement. */
      const hold = (
        incoming: IncomingCall | Outgoing,
        agent: CallAgent,
        owner: CallOwner,
        lost: Effect.Effect<void>,
        outbound: Pick<Facts, "outbound"> = {}
      ) =>
        Effect.gen(function* () {
          const settled = yield* Deferred.make<void>()
          if ("ringing" in incoming) incoming.ringing(owner.public_id)
          const { finished, recording } = yield* Effect.scoped(
            Effect.gen(function* () {
              const session = yield* CallSession.make(services, {
                id: owner.id,
                incoming,
                agent,
                formats: [mulaw8k],
                facts: {
                  _tag: "Facts",
                  call_id: owner.public_id,
                  agent_id: agent.public_id,
                  from: owner.from_number,
                  to: owner.to_number,
                  started_at: owner.started_at.getTime(),
                  agent: {
                    language: agent.language,
                    voice: agent.voice,
                    max_duration: agent.max_duration,
                    end_call_enabled: agent.end_call_enabled
                  },
                  ...services.facts,
                  ...outbound
                }
              })
              live.set(owner.public_id, { project: agent.project_id, session, settled })
              if (closing) session.end("shutdown")
              yield* Effect.forkScoped(
                Effect.zipRight(
                  lost,
                  Effect.sync(() => session.abandon())
                )
              )
              yield* Effect.forkScoped(Effect.zipRight(session.lingering, settlement.freeSlot(owner)))
              const over = yield* session.over
              return { finished: over, recording: session.recording() }
            })
          )
          // The conversation is over; its record must be, however long the database is away. Should we stop first, the
          // journal tells the outcome to whoever settles what we left.
          if (finished !== undefined) {
            const recorded =
              recording === undefined ? undefined : { seconds: recording.seconds(), writer: owner.node_id }
            yield* Effect.zipRight(journal.flush, persistently(settlement.settle(owner, finished, recorded)))
          }
          live.delete(owner.public_id)
          yield* Deferred.succeed(settled, undefined)
          if (finished !== undefined && recording !== undefined) yield* recordings.complete(owner, recording)
        })

      const place = <A>(call: PlacedCall, read: (owner: CallOwner) => Effect.Effect<A>) =>
        Effect.gen(function* () {
          if (closing) return "closing" as const
          const { id: node_id, lost } = yield* lease.current
          const owner = yield* admission.admitOutbound({ ...call, node_id })
          if (typeof owner === "string") return owner
          const shown = yield* Effect.exit(read(owner))
          const { agent, metadata, ring_timeout_seconds } = call
          const outgoing = { dial: call.dial(owner.public_id) }
          const held = hold(outgoing, agent, owner, lost, { outbound: { ring_timeout_seconds, metadata } })
          yield* FiberSet.run(calls, Effect.interruptible(held))
          return { value: yield* shown }
          // Who asks may go away: a call that has a record is held.
        }).pipe(Effect.uninterruptible)

      for (const telephony of providers.telephony) {
        yield* Stream.runForEach(telephony.incoming, (incoming) =>
          FiberSet.run(calls, admit(telephony, incoming))
        ).pipe(Effect.forkScoped)
      }

      yield* lease.onDeath("calls", (nodes) => recovery.settleCallsOf(nodes))

      const drain = yield* Effect.cached(
        Effect.suspend(() => {
          closing = true
          for (const { session } of live.values()) session.end("shutdown")
          // Also those that are just being admitted: they end as soon as they begin.
          return FiberSet.awaitEmpty(calls).pipe(Effect.timeoutOption(graceMs), Effect.interruptible, Effect.asVoid)
        })
      )
      // Runs before the fibers of the calls are interrupted.
      yield* Effect.addFinalizer(() => drain)

      return {
        place,
        live: Effect.sync(() => live.size),
        drain,
        end: (callId) =>
          Effect.suspend(() => {
            const call = live.get(callId)
            if (call === undefined) return Effect.succeed(false)
            // Somebody else has ended it; its record says so once it is settled.
            if (call.session.lingers()) return Effect.as(Deferred.await(call.settled), false)
            if (!call.session.inProgress()) return Effect.succeed(false)
            call.session.end("api")
            return Effect.as(Deferred.await(call.settled), true)
          }),
        gather: (callId, rules) => Effect.sync(() => live.get(callId)?.session.gather(rules) ?? "not-here"),
        transfer: (callId, destination) =>
          Effect.gen(function* () {
            const asked = live.get(callId)?.session.transfer(destination) ?? ("not-here" as const)
            return typeof asked === "string" ? asked : { failure: yield* asked }
          }),
        projects: Effect.sync(() => [...new Set([...live.values()].map(({ project }) => project))]),
        endOf: (projects) =>
          Effect.sync(() => {
            for (const { project, session } of live.values()) {
              if (projects.includes(project)) session.end(session.inProgress() ? "api" : "shutdown")
            }
          })
      }
    })
  )
}

/** Tries until the database takes it: a call that is over must not stay open because of a moment's fault. */
const persistently = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.sandbox(effect).pipe(
    Effect.tapError((cause) => Effect.logWarning("A call could not be settled; trying again", cause)),
    Effect.retry(Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))),
    Effect.orDie
  )
