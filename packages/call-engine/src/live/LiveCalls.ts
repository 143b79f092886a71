import type { CallAgent } from "@svc/agents/Agents"
import { withoutServices } from "@svc/api/WithoutServices"
import type { Facts } from "@svc/conversation/Input"
import { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import { legFormats } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import type { IncomingCall } from "@svc/providers/Telephony"
import { type ConfigError, Context, Deferred, Effect, FiberRef, FiberSet, HashMap, Layer, Schedule } from "effect"
import type { AgentServerClient } from "../agent-server/AgentServerClient.ts"
import type { Ticker } from "../media/Ticker.ts"
import type { CallOwner } from "../record/CallsRepo.ts"
import { LiveCallWriter } from "../record/LiveCallWriter.ts"
import { Settlement } from "../record/Settlement.ts"
import type { Recorder } from "../recording/Recorder.ts"
import { Recordings } from "../recording/Recordings.ts"
import type { CallKnowledge } from "../session/CallKnowledge.ts"
import type { CallMessages } from "../session/CallMessages.ts"
import type { SecondLegNetwork } from "../session/CallTransfer.ts"
import type { OutboundDial } from "../session/Direction.ts"
import { phoneServices } from "../session/PhoneServices.ts"
import * as PhoneSession from "../session/PhoneSession.ts"
import type { SpeechCache } from "../speech/SpeechCache.ts"
import type { CallDirection } from "./CallMetrics.ts"
import { inOrder } from "./InOrder.ts"

/** A call that is live in this process. */
export interface LiveCall {
  /** Numeric id. */
  readonly project: number
  /** Numeric id. */
  readonly agent: number
  readonly direction: CallDirection
  readonly session: PhoneSession.PhoneSession
  /** Completes when the call's record has been settled. */
  readonly settled: Deferred.Deferred<void>
}

/** An admitted call: its record exists, its session does not yet. */
export interface AdmittedCall {
  readonly connection: IncomingCall | OutboundDial
  readonly agent: CallAgent
  readonly owner: CallOwner
  /** Completes when this node loses the lease under which the call was admitted. */
  readonly leaseLost: Effect.Effect<void>
  readonly outbound?: Facts["outbound"]
  /** Of an inbound call: the metadata with which it came. */
  readonly metadata?: Facts["metadata"]
  /** The id of the telephony provider of our number; undefined: there is none. */
  readonly telephony: string | undefined
}

/** How long live calls may take to end when the process stops. */
const graceMs = 9_000

/** How many calls are settled at once; see `CallAdmission`. */
const mostSettled = 3

/** Headers of an incoming call that its agent's server gets at most, and the longest of them in characters. */
const maxHeaders = 30
const maxHeader = 1000

/** The headers that the network of an incoming call passed on. */
const headersOf = (connection: IncomingCall | OutboundDial): Pick<Facts, "headers"> => {
  const headers = "headers" in connection ? Object.entries(connection.headers).slice(0, maxHeaders) : []
  if (headers.length === 0) return {}
  return {
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value.slice(0, maxHeader)]))
  }
}

/** The calls that are live in this process, from admission to settlement. */
export class LiveCalls extends Context.Tag("@svc/call-engine/LiveCalls")<
  LiveCalls,
  {
    readonly count: Effect.Effect<number>
    readonly find: (callId: string) => LiveCall | undefined
    readonly all: () => ReadonlyArray<LiveCall>
    /** Whether the process is stopping and accepts no more calls. */
    readonly isDraining: () => boolean
    /** Runs the work of one call, admission included, in a fiber of its own, which `drain` waits for. */
    readonly fork: (work: Effect.Effect<void>) => Effect.Effect<void>
    /** Runs a call from its admission to its settlement. All that the fiber logs from then on has its `call_id`. */
    readonly run: (call: AdmittedCall) => Effect.Effect<void>
    /** Accepts no more calls, ends live calls with their farewell, and waits (at most 9 s) until they are settled. */
    readonly drain: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<
    LiveCalls,
    ConfigError.ConfigError,
    | Providers
    | AgentServerClient
    | CallKnowledge
    | CallMessages
    | LiveCallWriter
    | OutboundNumbers
    | Ticker
    | Settlement
    | Recorder
    | Recordings
    | SpeechCache
  > = Layer.scoped(
    LiveCalls,
    Effect.gen(function* () {
      const settlement = yield* Settlement
      const { journal } = yield* LiveCallWriter
      const recordings = yield* Recordings
      const { telephony: networks } = yield* Providers
      const reachable = yield* OutboundNumbers
      const live = new Map<string, LiveCall>()
      let draining = false
      const settleInOrder = inOrder(mostSettled)

      const calls = yield* FiberSet.make<void>()
      const background = yield* withoutServices(FiberSet.runtime(yield* FiberSet.make<void>())<never>())
      const services = yield* phoneServices((effect) => void background(effect))

      /** Networks of which the log says that the engine joins legs for them. */
      const unbridged = new Set<string>()
      /** Joins two legs in their network. Where it does not, the log says so once for the network. */
      const bridgeIn =
        (id: string, bridge: NonNullable<SecondLegNetwork["bridge"]>): NonNullable<SecondLegNetwork["bridge"]> =>
        (one, other) =>
          Effect.tapError(bridge(one, other), ({ reason }) => {
            if (unbridged.has(id)) return Effect.void
            unbridged.add(id)
            return Effect.logInfo(
              `The engine joins the two legs of a transfer, because the network ${id} did not: ${reason}. ` +
                "The audio of both passes through this process; for further transfers this is not logged"
            )
          })

      /** How a call dials a third party, from our number. */
      const secondLegOf = ({ outbound, owner, telephony }: AdmittedCall): SecondLegNetwork | undefined => {
        const network = networks.find(({ id }) => id === telephony)
        const from = outbound === undefined ? owner.to_number : owner.from_number
        if (network?.outbound === undefined || from === null) return undefined
        const { bridge, outbound: dialling } = network
        return {
          dial: (call, progress) => dialling.dial({ ...call, callId: owner.public_id, from }, progress),
          // It can join only legs of its own.
          ...(bridge === undefined || owner.telephony !== network.id ? {} : { bridge: bridgeIn(network.id, bridge) })
        }
      }

      const run = (call: AdmittedCall) =>
        Effect.gen(function* () {
          const { agent, connection, leaseLost, metadata, outbound, owner } = call
          const annotate = HashMap.set<string, unknown>("call_id", owner.public_id)
          yield* FiberRef.update(FiberRef.currentLogAnnotations, annotate)
          const settled = yield* Deferred.make<void>()
          if ("ringing" in connection) connection.ringing(owner.public_id)
          const { finished, recording } = yield* Effect.scoped(
            Effect.gen(function* () {
              const session = yield* PhoneSession.make(services, {
                id: owner.id,
                connection,
                agent,
                formats: legFormats,
                secondLeg: secondLegOf(call),
                refusalOf: (destination) => reachable.refusal(owner.org_id, destination),
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
                  ...(agent.has_knowledge_bases ? { knowledge: true } : {}),
                  ...headersOf(connection),
                  ...(metadata === undefined ? {} : { metadata }),
                  ...(outbound === undefined ? {} : { outbound })
                }
              })
              const direction = outbound === undefined ? "inbound" : "outbound"
              live.set(owner.public_id, { project: agent.project_id, agent: agent.id, direction, session, settled })
              if (draining) session.end("shutdown")
              yield* Effect.forkScoped(
                Effect.zipRight(
                  leaseLost,
                  Effect.sync(() => session.abandon())
                )
              )
              yield* Effect.forkScoped(Effect.zipRight(session.extracting, settlement.freeSlot(owner)))
              const over = yield* session.over
              return { finished: over, recording: session.recording() }
            })
          )
          // The conversation is over, so its record must be settled, however long the database is unavailable. If the
          // process stops first, the outcome is in the journal for the node that recovers the call.
          if (finished !== undefined) {
            const recorded =
              recording === undefined ? undefined : { seconds: recording.seconds(), writer: owner.node_id }
            yield* Effect.zipRight(
              journal.flush,
              persistently(settleInOrder(settlement.settle(owner, finished, recorded)))
            )
          }
          live.delete(owner.public_id)
          yield* Deferred.succeed(settled, undefined)
          if (finished !== undefined && recording !== undefined) yield* recordings.complete(owner, recording)
        })

      const drain = yield* Effect.cached(
        Effect.suspend(() => {
          draining = true
          for (const { session } of live.values()) session.end("shutdown")
          // Calls that are being admitted now end as soon as their session begins.
          return FiberSet.awaitEmpty(calls).pipe(Effect.timeoutOption(graceMs), Effect.interruptible, Effect.asVoid)
        })
      )
      // Runs before the fibers of the calls are interrupted.
      yield* Effect.addFinalizer(() => drain)

      return {
        count: Effect.sync(() => live.size),
        find: (callId) => live.get(callId),
        all: () => [...live.values()],
        isDraining: () => draining,
        fork: (work) => Effect.asVoid(withoutServices(FiberSet.run(calls, work))),
        run,
        drain
      }
    })
  )
}

/** Retries until the database accepts it: a transient fault must not leave the record of an ended call open. */
const persistently = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.sandbox(effect).pipe(
    Effect.tapError((cause) => Effect.logWarning("A call could not be settled; trying again", cause)),
    Effect.retry(Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))),
    Effect.orDie
  )
