import { SqlClient } from "@effect/sql"
import { Agents, type CallAgent } from "@svc/agents/Agents"
import { AgentNotFound } from "@svc/api/agents/Agent"
import { newTestSessionId, TestSessionId } from "@svc/api/Ids"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import {
  type TestSession,
  TestSessionBusy,
  type TestSessionCreate,
  TestSessionEnded,
  TestSessionFailed,
  type TestSessionInput,
  TestSessionLimitExceeded,
  TestSessionNotFound,
  TestSessionTimeout,
  type TestSessionTurn
} from "@svc/api/test-sessions/TestSession"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { Projects } from "@svc/auth/Projects"
import { NodeLease } from "@svc/cluster/NodeLease"
import { metadataProblem } from "@svc/conversation/answers/MetadataLimits"
import type { Facts } from "@svc/conversation/Input"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import type { Providers } from "@svc/providers/Providers"
import {
  Clock,
  type ConfigError,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberSet,
  Layer,
  Option,
  Schema
} from "effect"
import type { AgentServerClient } from "../agent-server/AgentServerClient.ts"
import type { LiveCallWriter } from "../record/LiveCallWriter.ts"
import type { CallKnowledge } from "../session/CallKnowledge.ts"
import type { CallMessages } from "../session/CallMessages.ts"
import { conversationServices } from "../session/ConversationServices.ts"
import type { TextSession } from "../session/TextSession.ts"
import * as SessionTurn from "./SessionTurn.ts"
import { type TestSessionHead, type TestSessionRow, TestSessionsRepo } from "./TestSessionsRepo.ts"

const isId = Schema.is(TestSessionId)

/** Active sessions of a project, at most. */
const maxActive = 200
/** Seconds in `Retry-After` when there are as many. */
const retryAfter = 30
/** How long a request waits for an earlier one of its session: longer than a dead node keeps its lease. */
const waitForTurn = Duration.seconds(15)
/** How long an answer may take. */
const answerWithin = Duration.seconds(60)
/** Minutes without a message after which a session ends. */
const idleMinutes = 30
/** Days for which an ended session can be read. */
const keptDays = 30

/** What a request wants of a session. */
type Act = Parameters<typeof SessionTurn.run>[2]
type EndedAs = SessionTurn.ClaimedSession["endedAs"]

/**
 * Conversations with agents in text. Between two messages a session is only in the database, so any node takes the next
 * one. A node that dies in the middle of a turn loses nothing that was stored: the node that gets the next message
 * finishes the turn. The transaction that deletes an agent or its project also ends the sessions. See
 * docs/reference/test-sessions.md.
 */
export class TestSessions extends Context.Tag("@svc/call-engine/TestSessions")<
  TestSessions,
  {
    /** Begins a session; completes with the greeting. */
    readonly create: (
      owner: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
      request: TestSessionCreate
    ) => Effect.Effect<
      TestSession,
      ValidationError | AgentNotFound | TestSessionFailed | TestSessionLimitExceeded | TestSessionTimeout | Unavailable
    >
    /** Messages of a session are answered one after the other. A client that disconnects does not end the turn. */
    readonly message: (
      project: PrincipalProject,
      id: string,
      input: TestSessionInput
    ) => Effect.Effect<
      TestSessionTurn,
      ValidationError | TestSessionNotFound | TestSessionEnded | TestSessionBusy | TestSessionTimeout | Unavailable
    >
    readonly get: (project: PrincipalProject, id: string) => Effect.Effect<TestSession, TestSessionNotFound>
    /** Ends a session, also one that works on a message on this node. */
    readonly end: (
      project: PrincipalProject,
      id: string
    ) => Effect.Effect<void, TestSessionNotFound | TestSessionBusy | TestSessionTimeout | Unavailable>
    /** Ends sessions without a message for 30 minutes, and deletes those that ended 30 days ago. */
    readonly sweep: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<
    TestSessions,
    ConfigError.ConfigError,
    | (Agents | PhoneNumbers | NodeLease | Projects | SqlClient.SqlClient | TestSessionsRepo)
    | (Providers | AgentServerClient | CallKnowledge | CallMessages | LiveCallWriter)
  > = Layer.scoped(
    TestSessions,
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const lease = yield* NodeLease
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const repo = yield* TestSessionsRepo
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const shared = yield* conversationServices((effect) => void background(effect))
      const { filler_ms: _, ...processFacts } = shared.facts
      const services = { ...shared, repo }
      const turns = yield* FiberSet.make<SessionTurn.Turn, SessionTurn.SessionLost>()
      /** The sessions that this process works on, by numeric id; undefined until the session has begun. */
      const working = new Map<number, TextSession | undefined>()
      yield* lease.onDeath("test-sessions", repo.releaseAllOf)
      yield* agents.onDelete("test sessions", repo.endAllOfAgent)
      yield* projects.onDelete("test sessions", (project) => repo.endAllOfProject(project.id))

      /** Starts a turn, which goes on when the request is interrupted. The session has been claimed. */
      const begin = (
        session: Omit<SessionTurn.ClaimedSession, "journal" | "node">,
        { id: node, lost }: { readonly id: string; readonly lost: Effect.Effect<void> },
        act: Act
      ) =>
        Effect.gen(function* () {
          const journal = yield* repo.journal(session.id)
          return yield* SessionTurn.run(services, { ...session, node, journal }, act, (begun) =>
            working.set(session.id, begun)
          )
        }).pipe(
          Effect.scoped,
          Effect.raceFirst(Effect.zipRight(lost, new SessionTurn.SessionLost())),
          // The claim before it is not interruptible, and a fork inherits that.
          Effect.interruptible,
          Effect.ensuring(
            Effect.zipRight(
              Effect.sync(() => working.delete(session.id)),
              Effect.catchAllCause(repo.release(session.id, node), (cause) =>
                Effect.logWarning("A test session could not be released; its next message takes it", cause)
              )
            )
          ),
          (turn) => FiberSet.run(turns, turn)
        )

      const lookedUp =
        <A>(read: (projectId: number, id: string) => Effect.Effect<Option.Option<A>>) =>
        (project: Pick<PrincipalProject, "id">, id: string): Effect.Effect<A, TestSessionNotFound> => {
          if (!isId(id)) return Effect.fail(new TestSessionNotFound())
          return Effect.flatMap(
            read(project.id, id),
            Option.match({ onNone: () => new TestSessionNotFound(), onSome: (row) => Effect.succeed(row) })
          )
        }
      const found = lookedUp(repo.find)
      const headOf = lookedUp(repo.head)

      /** The outcome of a turn of a session, within the time of an answer. */
      const answer = (
        project: Pick<PrincipalProject, "id">,
        id: string,
        turn: Fiber.Fiber<SessionTurn.Turn, SessionTurn.SessionLost>
      ) =>
        Effect.gen(function* () {
          const exit = yield* Effect.timeoutFail(Fiber.await(turn), {
            duration: answerWithin,
            onTimeout: () => new TestSessionTimeout()
          })
          if (Exit.isSuccess(exit)) return exit.value
          // A fault of the turn is the caller's to see.
          if (exit.cause._tag === "Die") return yield* Effect.die(exit.cause.defect)
          // The agent was deleted, the node stops, or has lost the session to another.
          const { ended_at, ended_reason } = yield* headOf(project, id)
          return yield* ended_at === null ? new Unavailable() : endedError(ended_reason)
        })

      const factsOf = (
        agent: CallAgent,
        session: Pick<TestSessionRow, "public_id" | "from_number" | "to_number">,
        at: Date
      ) =>
        ({
          _tag: "Facts",
          call_id: session.public_id,
          agent_id: agent.public_id,
          from: session.from_number,
          to: session.to_number,
          started_at: at.getTime(),
          agent: {
            language: agent.language,
            voice: agent.voice,
            max_duration: agent.max_duration,
            end_call_enabled: agent.end_call_enabled
          },
          ...processFacts,
          ...(agent.has_knowledge_bases ? { knowledge: true } : {})
        }) satisfies Facts

      /** Claims a session and begins a turn; `busy` while another turn runs. */
      const tryTurn = (row: TestSessionHead, act: Act, endedAs: EndedAs) =>
        Effect.gen(function* () {
          if (working.has(row.id)) return "busy" as const
          working.set(row.id, undefined)
          const current = yield* lease.current
          if (!(yield* repo.claim(row.id, current.id))) {
            working.delete(row.id)
            return "busy" as const
          }
          const agent = yield* Effect.option(agents.forCall(row.agent_id))
          if (Option.isNone(agent)) {
            yield* repo.store(row.id, current.id, { rows: [], messages: [], ended: "agent-deleted" })
            working.delete(row.id)
            return "ended" as const
          }
          const facts = factsOf(agent.value, row, row.created_at)
          return yield* begin({ id: row.id, agent: agent.value, facts, endedAs }, current, act)
        }).pipe(
          Effect.onError(() => Effect.sync(() => working.delete(row.id))),
          Effect.uninterruptible
        )

      /** A turn of a session, once those before it are over. */
      const turnOf = (
        project: Pick<PrincipalProject, "id">,
        id: string,
        act: Act,
        endedAs: EndedAs = "api"
      ): Effect.Effect<
        Fiber.Fiber<SessionTurn.Turn, SessionTurn.SessionLost>,
        TestSessionNotFound | TestSessionEnded | TestSessionBusy
      > =>
        Effect.gen(function* () {
          for (;;) {
            const row = yield* headOf(project, id)
            if (row.ended_at !== null) return yield* endedError(row.ended_reason)
            const turn = yield* tryTurn(row, act, endedAs)
            if (typeof turn !== "string") return turn
            if (turn === "busy") yield* Effect.sleep("50 millis")
          }
        }).pipe(Effect.timeoutFail({ duration: waitForTurn, onTimeout: () => new TestSessionBusy() }))

      const create = Effect.fn("TestSessions.create")(function* (
        { org, project }: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
        request: TestSessionCreate
      ) {
        const problem = request.metadata === undefined ? null : metadataProblem(request.metadata)
        if (problem !== null) return yield* ValidationError.field("metadata", problem)
        const agent = yield* Effect.flatMap(agents.get(project, String(request.agent_id)), ({ id }) =>
          agents.forCall(id)
        )
        const [number] = yield* numbers.ofAgent(agent.id)
        const session = {
          public_id: yield* newTestSessionId,
          from_number: request.from ?? null,
          to_number: number?.number ?? null
        }
        const created_at = new Date(yield* Clock.currentTimeMillis)
        const turn = yield* Effect.uninterruptible(
          Effect.gen(function* () {
            const current = yield* lease.current
            const row = {
              ...session,
              org_id: org.id,
              project_id: project.id,
              agent_id: agent.id,
              agent_public_id: agent.public_id,
              metadata: request.metadata ?? {},
              node_id: current.id,
              created_at
            }
            // The agent's deletion ends the session, or comes first.
            const inserted = Effect.flatMap(agents.pin(agent.id), (exists) =>
              exists ? repo.insert(row, maxActive) : Effect.fail(new AgentNotFound())
            )
            const id = yield* inserted.pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))
            if (id === null) return yield* new TestSessionLimitExceeded({ retryAfter })
            working.set(id, undefined)
            return yield* begin(
              { id, agent, facts: factsOf(agent, session, created_at), endedAs: "api" },
              current,
              () => {}
            )
          })
        )
        const failure = yield* answer(project, session.public_id, turn).pipe(
          Effect.map((begun) => begun.failure),
          // Its agent was deleted meanwhile: the session is answered as ended.
          Effect.catchTag("TestSessionEnded", () => Effect.succeed(null)),
          Effect.catchTag("TestSessionNotFound", Effect.die)
        )
        if (failure !== null) {
          return yield* new TestSessionFailed({ message: `call.started got no usable answer: ${failure}` })
        }
        return toWire(yield* Effect.orDie(found(project, session.public_id)))
      })

      const message = Effect.fn("TestSessions.message")(function* (
        project: PrincipalProject,
        id: string,
        { content, digits }: TestSessionInput
      ) {
        if ((content === undefined) === (digits === undefined)) {
          return yield* ValidationError.field("content", "give either content or digits")
        }
        const at = new Date(yield* Clock.currentTimeMillis).toISOString()
        const turn = yield* turnOf(project, id, (session, note) => {
          if (content !== undefined) session.say(content)
          if (digits !== undefined) {
            note({ role: "user", content: digits, timestamp: at })
            session.press(digits)
          }
        })
        const { ended, messages } = yield* answer(project, id, turn)
        return { messages, ended: ended !== null }
      })

      const end = Effect.fn("TestSessions.end")(function* (
        project: Pick<PrincipalProject, "id">,
        id: string,
        endedAs: EndedAs = "api"
      ) {
        const { ended_at, id: numeric } = yield* headOf(project, id)
        if (ended_at !== null) return
        working.get(numeric)?.feed({ _tag: "EndRequested", by: "api" })
        yield* turnOf(project, id, (session) => session.feed({ _tag: "EndRequested", by: "api" }), endedAs).pipe(
          Effect.flatMap((turn) => answer(project, id, turn)),
          Effect.catchTag("TestSessionEnded", () => Effect.void)
        )
      })

      const sweep = Effect.gen(function* () {
        for (const { project_id, public_id: id } of yield* repo.idle(idleMinutes)) {
          yield* Effect.catchAll(end({ id: project_id }, id, "idle"), (error) =>
            Effect.logWarning(`The idle test session ${id} could not be ended; trying again: ${error.message}`)
          )
        }
        yield* repo.deleteOlder(keptDays)
      })

      return {
        create,
        message,
        end: (project, id) => end(project, id),
        sweep,
        get: (project, id) => Effect.map(found(project, id), toWire)
      }
    })
  )
}

const toWire = (row: TestSessionRow): TestSession => ({
  id: row.public_id,
  agent_id: row.agent_public_id,
  status: row.ended_at === null ? "active" : "ended",
  messages: row.messages,
  created_at: row.created_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null
})

const reasons: { readonly [reason: string]: string } = {
  api: "it was ended through the API",
  idle: `it had no message for ${idleMinutes} minutes`,
  "agent-hangup": "the agent ended it",
  transfer: "the agent transferred the caller",
  "agent-deleted": "the agent was deleted",
  error: "it failed"
}

const endedError = (reason: string | null): TestSessionEnded =>
  new TestSessionEnded({
    message: `the test session has ended: ${reasons[reason ?? "error"] ?? reason}. Create another`
  })
