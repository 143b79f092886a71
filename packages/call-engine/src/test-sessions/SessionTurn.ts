import type { CallAgent } from "@svc/agents/Agents"
import { jsonText } from "@svc/api/CanonicalJson"
import { inSteps } from "@svc/api/Thread"
import type { TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { sendSms } from "@svc/conversation/answers/PlatformTools"
import type { Command } from "@svc/conversation/Command"
import { awaitsCaller } from "@svc/conversation/Floor"
import type { Facts } from "@svc/conversation/Input"
import { replaying } from "@svc/conversation/Replay"
import { unfinished } from "@svc/conversation/Resume"
import { type Context, Data, Deferred, Effect, FiberId, type Scope } from "effect"
import type { JournalRow, StoredInput } from "../record/JournalRepo.ts"
import type { ConversationServices } from "../session/ConversationServices.ts"
import * as TextSession from "../session/TextSession.ts"
import type { TestSessionsRepo } from "./TestSessionsRepo.ts"

/** Another node has taken the session over. */
export class SessionLost extends Data.TaggedError("SessionLost")<object> {}

/** What a turn added to its session. */
export interface Turn {
  readonly messages: ReadonlyArray<TestSessionMessage>
  /** Why the session is over; null while it is not. */
  readonly ended: string | null
  /** Why the agent's server gave no configuration, if that ended the session. */
  readonly failure: string | null
}

/** A session that this node has claimed. */
export interface ClaimedSession {
  /** Numeric id. */
  readonly id: number
  readonly node: string
  readonly agent: CallAgent
  readonly facts: Facts
  readonly journal: ReadonlyArray<StoredInput>
  /** Why the session is over when it is ended from outside. */
  readonly endedAs: "api" | "idle"
}

/** What is known of a tool that was called: its arguments, and when it began to run. */
interface ToolBegin {
  readonly arguments: { readonly [name: string]: unknown }
  /** Milliseconds; undefined for a tool that another process called. */
  readonly at: number | undefined
}

/** The longest time that a turn may take before it ends the session as failed. */
const longestTurn = "10 minutes"

/** Tools that do their work outside, and only appear to in a test session. */
const simulatedTools: ReadonlySet<string> = new Set([sendSms, "transfer_call"])

/** Makes the messages that the commands of successive steps add to a session. */
class Messages {
  private readonly tools = new Map<string, ToolBegin>()

  /** `at` in milliseconds; undefined for what was said already. */
  of(commands: ReadonlyArray<Command>, at: number | undefined): ReadonlyArray<TestSessionMessage> {
    const timestamp = new Date(at ?? 0).toISOString()
    return commands.flatMap((command): ReadonlyArray<TestSessionMessage> => {
      if (command._tag === "TellTranscript") return [{ role: command.role, content: command.content, timestamp }]
      if (command._tag === "InvokeTool") this.tools.set(command.id, { arguments: command.arguments, at })
      if (command._tag !== "Emit") return []
      const { data, event } = command
      if (event === "tool.invoked") this.tools.set(data.tool_call_id, { arguments: data.arguments, at })
      if (event !== "tool.timeout" && event !== "tool.completed") return []
      const begin = this.tools.get(data.tool_call_id)
      this.tools.delete(data.tool_call_id)
      const result =
        event === "tool.timeout"
          ? { error: "The tool did not answer in time." }
          : simulatedTools.has(data.tool_name)
            ? { simulated: true, result: data.result }
            : data.result
      return [
        {
          role: "tool",
          content: jsonText(result),
          timestamp,
          tool_name: data.tool_name,
          ...(begin !== undefined && { arguments: begin.arguments }),
          ...(begin?.at !== undefined && at !== undefined && { duration_ms: at - begin.at })
        }
      ]
    })
  }
}

/**
 * Runs a session from where its journal ends until the agent waits for the caller again, or the session is over. Each
 * finished part is stored at once. `act` gets the session when the agent waits; a turn that another process left
 * unfinished is finished first.
 */
export const run = (
  services: ConversationServices & { readonly repo: Context.Tag.Service<TestSessionsRepo> },
  { agent, endedAs, facts, id, journal, node }: ClaimedSession,
  act: (session: TextSession.TextSession, note: (message: TestSessionMessage) => void) => void,
  onBegun: (session: TextSession.TextSession) => void
): Effect.Effect<Turn, SessionLost, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const changed = Effect.unsafeMakeLatch()
    const said: Array<TestSessionMessage> = []
    let rows: Array<JournalRow> = []
    let batch = Deferred.unsafeMake<void>(FiberId.none)
    let messages: Array<TestSessionMessage> = []
    const made = new Messages()
    let failure: string | null = null

    const replayed = yield* inSteps(() => replaying(journal))
    const rest = replayed === undefined ? undefined : unfinished(replayed)
    const last = journal.at(-1)
    yield* inSteps(function* () {
      for (const { commands } of replayed?.steps ?? []) {
        made.of(commands, undefined)
        yield
      }
    })
    /** Completes once all that has happened by now is stored. */
    const stored = Effect.suspend(() => {
      changed.unsafeOpen()
      return Deferred.await(batch)
    })
    const text: ConversationServices = {
      ...services,
      agentServer: {
        ...services.agentServer,
        // A tool that was called counts as failed after a crash, so its call is stored first: no tool is called twice.
        toolCall: (...request) => Effect.zipRight(stored, services.agentServer.toolCall(...request))
      },
      messages: { send: () => Effect.succeed("simulated") },
      events: { emit: () => {} },
      serverRequests: { add: () => {} },
      journal: {
        append: (row, urgent) => {
          rows.push(row)
          if (row.input._tag === "ConfigFailed") failure = row.input.reason
          if (urgent) changed.unsafeOpen()
        },
        flush: Effect.void
      }
    }
    const session = yield* TextSession.make(
      text,
      {
        id,
        agent,
        facts,
        resumed:
          replayed === undefined || last === undefined
            ? undefined
            : {
                state: replayed.state,
                seq: last.seq + 1,
                at: last.input._tag === "Facts" ? 0 : last.input.at,
                commands: rest?.commands ?? []
              }
      },
      (live, commands) => {
        messages.push(...made.of(commands, clock.unsafeCurrentTimeMillis()))
        if (live.isOver() || awaitsCaller(live.state())) changed.unsafeOpen()
      }
    )
    onBegun(session)

    const endedReason = (): string | null => {
      if (!session.isOver()) return null
      const reason = session.state().outcome?.ended_reason ?? "error"
      return reason === "api" ? endedAs : reason
    }
    const store = Effect.gen(function* () {
      const progress = { rows, messages, ended: endedReason() }
      const taken = batch
      rows = []
      batch = Deferred.unsafeMake<void>(FiberId.none)
      messages = []
      said.push(...progress.messages)
      if (!(yield* services.repo.store(id, node, progress))) return yield* new SessionLost()
      yield* Deferred.succeed(taken, undefined)
    })
    /** Stores what happens until the agent waits for the caller. */
    const work: Effect.Effect<void, SessionLost> = Effect.gen(function* () {
      for (;;) {
        changed.unsafeClose()
        yield* store
        // What came while it was stored has opened the latch.
        if (rows.length === 0 && (session.isOver() || awaitsCaller(session.state()))) return
        yield* Effect.raceFirst(changed.await, Effect.asVoid(session.over))
      }
    })
    const finish = Effect.catchTag(Effect.timeout(work, longestTurn), "TimeoutException", () => {
      session.feed({ _tag: "Crashed", reason: "the turn took too long" })
      return store
    })

    for (const input of rest?.inputs ?? []) session.feed(input)
    yield* finish
    if (!session.isOver()) {
      act(session, (message) => messages.push(message))
      yield* finish
    }
    return { messages: said, ended: endedReason(), failure }
  })
