import { Agents } from "@svc/agents/Agents"
import { Voices } from "@svc/agents/Voices"
import {
  type Call,
  CallNotFound,
  CallNotInProgress,
  type CallState,
  type CallStatus,
  type CallSummary,
  NoControlChannel
} from "@svc/api/calls/Call"
import type { CallsQuery } from "@svc/api/calls/CallsApi"
import { type CallLine, noLine, noUsage } from "@svc/api/calls/CallUsage"
import { GatherAlreadyActive, type GatherRequest } from "@svc/api/calls/Gather"
import { TransferAlreadyActive, TransferFailed } from "@svc/api/calls/Transfer"
import { CallId, parseId } from "@svc/api/Ids"
import type { PrincipalProject } from "@svc/api/Principal"
import { inSteps } from "@svc/api/Thread"
import { ValidationError } from "@svc/api/VoiceError"
import { isGender } from "@svc/conversation/answers/GatherAnswer"
import { recordOf } from "@svc/conversation/CallRecord"
import { replaying } from "@svc/conversation/Replay"
import { Context, Effect, Layer, Option } from "effect"
import { CallControl } from "../live/CallControl.ts"
import { CallQueriesRepo, type CallRow } from "./CallQueriesRepo.ts"
import { JournalRepo } from "./JournalRepo.ts"

/** A call as it is stored. */
type StoredCall = Omit<CallRow, "line" | "telephony"> & { readonly line: CallLine }

export const withLine = ({ line, telephony, ...call }: CallRow): StoredCall => ({
  ...call,
  line: { telephony, ...(line ?? noLine) }
})

const readId = parseId(CallId)

/** Looks a call of a project up by either of its ids. */
export const find = <A>(
  project: Pick<PrincipalProject, "id">,
  id: string,
  lookUp: (
    project: number,
    id: { readonly numeric: number } | { readonly public: string }
  ) => Effect.Effect<Option.Option<A>>
): Effect.Effect<A, CallNotFound> => {
  const key = readId(id)
  return key === undefined
    ? Effect.fail(new CallNotFound())
    : Effect.flatMap(lookUp(project.id, key), (row) =>
        Option.isNone(row) ? Effect.fail(new CallNotFound()) : Effect.succeed(row.value)
      )
}

/** The calls of a project: their records, and control of live ones. See docs/reference/calls.md. */
export class Calls extends Context.Tag("@svc/call-engine/Calls")<
  Calls,
  {
    /** Newest first. An agent or a cursor of another project is a validation error. */
    readonly list: (
      project: PrincipalProject,
      query: CallsQuery
    ) => Effect.Effect<
      { readonly calls: ReadonlyArray<CallSummary>; readonly next_cursor: string | null },
      ValidationError
    >
    /**
     * With transcript and latencies. For a live call these and the counts of turns and tool calls come from its
     * journal.
     */
    readonly get: (project: Pick<PrincipalProject, "id">, id: string) => Effect.Effect<Call, CallNotFound>
    readonly state: (project: PrincipalProject, id: string) => Effect.Effect<CallState, CallNotFound>
    /** Ends a call that is in progress; completes when its record is settled. */
    readonly end: (
      project: PrincipalProject,
      id: string
    ) => Effect.Effect<CallId, CallNotFound | CallNotInProgress | NoControlChannel>
    /**
     * Starts collecting digits in a call that is in progress. Returns the call's numeric id; the outcome is an event.
     */
    readonly gather: (
      project: PrincipalProject,
      id: string,
      request: GatherRequest
    ) => Effect.Effect<
      number,
      ValidationError | CallNotFound | CallNotInProgress | GatherAlreadyActive | NoControlChannel
    >
    /** Transfers the caller to another number (E.164); completes when the transfer has. */
    readonly transfer: (
      project: PrincipalProject,
      id: string,
      destination: string
    ) => Effect.Effect<
      void,
      CallNotFound | CallNotInProgress | NoControlChannel | TransferAlreadyActive | TransferFailed
    >
  }
>() {
  static readonly layer: Layer.Layer<Calls, never, CallQueriesRepo | JournalRepo | CallControl | Agents | Voices> =
    Layer.effect(
      Calls,
      Effect.gen(function* () {
        const repo = yield* CallQueriesRepo
        const journal = yield* JournalRepo
        const control = yield* CallControl
        const agents = yield* Agents
        const voices = yield* Voices

        const list = Effect.fn("Calls.list")(function* (project: PrincipalProject, query: CallsQuery) {
          const { after, agent_id, ...rest } = query
          const agent =
            agent_id === undefined
              ? undefined
              : yield* Effect.mapError(agents.get(project, agent_id), () =>
                  ValidationError.field("agent_id", "agent_id is not an agent of this project")
                )
          const cursor =
            after === undefined
              ? undefined
              : yield* Effect.mapError(find(project, after, repo.get), () =>
                  ValidationError.field("after", "after is not a call of this project")
                )
          const rows = yield* repo.list({
            ...rest,
            project_id: project.id,
            limit: query.limit + 1,
            ...(agent === undefined ? {} : { agent_id: agent.id }),
            ...(cursor === undefined ? {} : { before_id: cursor.id })
          })
          const page = rows.slice(0, query.limit)
          return {
            calls: page.map(({ id: _, ...call }) => call),
            next_cursor: rows.length > query.limit ? (page.at(-1)?.call_id ?? null) : null
          }
        })

        /** Transcript, latencies and counts of a live call, from its journal. */
        const liveRecord = (row: CallRow) =>
          Effect.gen(function* () {
            const rows = yield* journal.ofCall(row.id)
            const state = (yield* inSteps(() => replaying(rows)))?.state
            if (state === undefined) return { usage: noUsage }
            const { latency_turns, metadata, tool_call_count, tools_called, transcript, turn_count, ...rest } =
              recordOf(state)
            const { line, usage, warnings, warnings_dropped } = rest
            return {
              line,
              usage,
              latency_turns,
              metadata,
              tool_call_count,
              tools_called,
              transcript,
              turn_count,
              warnings,
              warnings_dropped
            }
          })

        const get = Effect.fn("Calls.get")(function* (project: Pick<PrincipalProject, "id">, callId: string) {
          const row = yield* find(project, callId, repo.get)
          const {
            id: _,
            latency_turns,
            llm_cost,
            ...call
          } = withLine(row.ended_at === null ? { ...row, ...(yield* liveRecord(row)) } : row)
          return { ...call, ...(llm_cost === 0 ? {} : { llm_cost }), latency_data: { turns: latency_turns } }
        })

        const end = Effect.fn("Calls.end")(function* (project: PrincipalProject, callId: string) {
          const { call_id, status } = yield* find(project, callId, repo.state)
          if ((yield* control.end(call_id)) === "ended") return call_id
          return yield* yield* notControlled(project, callId, status)
        })

        /** The error for a call of which no reachable node has the session. */
        const notControlled = Effect.fnUntraced(function* (
          project: PrincipalProject,
          callId: string,
          status: CallStatus
        ) {
          if (status !== "in-progress") return new CallNotInProgress()
          // The call may have ended after the first read.
          const again = yield* find(project, callId, repo.state)
          return again.ended_at === null ? new NoControlChannel() : new CallNotInProgress()
        })

        const gather = Effect.fn("Calls.gather")(function* (
          project: PrincipalProject,
          callId: string,
          request: GatherRequest
        ) {
          const { language, voice } = request
          if (!isGender(voice) && !voices.isValid(voice, language)) {
            return yield* ValidationError.field("voice", "voice not available for the selected language")
          }
          const { call_id, id, status } = yield* find(project, callId, repo.get)
          switch (yield* control.gather(call_id, request)) {
            case "accepted":
              return id
            case "already-active":
              return yield* new GatherAlreadyActive()
            case "not-in-progress":
              return yield* new CallNotInProgress()
            case "not-here":
              return yield* yield* notControlled(project, callId, status)
          }
        })

        const transfer = Effect.fn("Calls.transfer")(function* (
          project: PrincipalProject,
          callId: string,
          destination: string
        ) {
          const { call_id, status } = yield* find(project, callId, repo.state)
          const outcome = yield* control.transfer(call_id, destination)
          switch (outcome) {
            case "already-active":
              return yield* new TransferAlreadyActive()
            case "not-in-progress":
              return yield* new CallNotInProgress()
            case "not-here":
              return yield* yield* notControlled(project, callId, status)
          }
          if (outcome.failure === null) return
          return yield* new TransferFailed({ message: `transfer failed: ${outcome.failure}` })
        })

        return {
          list,
          get,
          state: (project, id) => find(project, id, repo.state),
          end,
          gather,
          transfer
        }
      })
    )
}
