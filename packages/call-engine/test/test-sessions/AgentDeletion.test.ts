import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { Projects } from "@svc/auth/Projects"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestSessions } from "../../src/test-sessions/TestSessions.ts"
import { agentOnNumber, Base, configuration, Engine, until } from "../doubles/Engine.ts"

const Test = Layer.provideMerge(Engine, Base)

const script = { rules: [{ user: "gold", say: "Let me look.", tool: "lookup" }], otherwise: "You said {{user}}." }

/** An agent, its sessions and its deletion. Its server answers requests of `held` when `open` has been run. */
const scene = Effect.gen(function* () {
  const agents = yield* Agents
  const sessions = yield* TestSessions
  const answers = yield* Effect.makeLatch()
  const held = new Set(["tool.call"])
  const line = yield* agentOnNumber(({ event }) => {
    const { json } =
      event === "call.started" ? configuration(script, { tools: [{ name: "lookup" }] }) : { json: { result: {} } }
    if (!held.has(event)) return { json }
    return { write: (res) => void Effect.runFork(Effect.map(answers.await, () => res.end(JSON.stringify(json)))) }
  })
  return {
    ...line,
    held,
    open: answers.open,
    asked: (event: string) =>
      until(
        Effect.sync(() => line.server.received),
        (all) => all.some((one) => one.event === event)
      ),
    create: sessions.create(line.owner, { agent_id: line.agent.public_id }),
    get: (id: string) => sessions.get(line.project, id),
    say: (id: string, content: string) => sessions.message(line.project, id, { content }),
    remove: agents.remove(line.owner, line.agent.public_id)
  }
})

const reasonOf = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select ended_reason from test_sessions where public_id = ${id}`)

const endedByDeletion = "the test session has ended: the agent was deleted. Create another"

layer(Test, { timeout: "60 seconds", excludeTestServices: true })("a test session", (it) => {
  it.scoped("has ended when its agent is deleted, also one that another node or a node before a restart holds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { create, get, remove, say } = yield* scene
      const other = yield* scene
      const [free, held, ofOther] = [yield* create, yield* create, yield* other.create]
      yield* sql`update test_sessions set node_id = 'node_of_another' where public_id = ${held.id}`
      yield* remove
      for (const { id, messages } of [free, held]) {
        expect(yield* get(id)).toMatchObject({ status: "ended", ended_at: expect.any(String), messages })
        expect(yield* reasonOf(id)).toEqual([{ ended_reason: "agent-deleted" }])
        const late = yield* Effect.flip(say(id, "Hi"))
        expect([late._tag, late.message]).toEqual(["TestSessionEnded", endedByDeletion])
      }
      expect((yield* other.get(ofOther.id)).status).toBe("active")
    })
  )

  it.scoped("answers a message that it works on with TEST_SESSION_ENDED when its agent is deleted", () =>
    Effect.gen(function* () {
      const { asked, create, get, open, remove, say } = yield* scene
      const { id } = yield* create
      const turn = yield* Effect.fork(Effect.flip(say(id, "gold")))
      yield* asked("tool.call")
      yield* remove
      expect((yield* get(id)).status).toBe("ended")
      yield* open
      const error = yield* Fiber.join(turn)
      expect([error._tag, error.message]).toEqual(["TestSessionEnded", endedByDeletion])
      expect(yield* reasonOf(id)).toEqual([{ ended_reason: "agent-deleted" }])
    })
  )

  it.scoped("is answered as ended when its agent is deleted before the greeting", () =>
    Effect.gen(function* () {
      const { asked, create, get, held, open, remove } = yield* scene
      held.add("call.started")
      const creation = yield* Effect.fork(create)
      yield* asked("call.started")
      yield* remove
      yield* open
      const session = yield* Fiber.join(creation)
      expect(session).toMatchObject({ status: "ended", messages: [] })
      expect(yield* get(session.id)).toEqual(session)
    })
  )

  it.scoped("of a deleted agent does not count towards the limit of active sessions", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sessions = yield* TestSessions
      const sql = yield* SqlClient.SqlClient
      const { agent, create, owner, remove } = yield* scene
      const { agent: other } = yield* agents.clone(owner, agent.public_id, {})
      const { id } = yield* create
      yield* sql`
        insert into test_sessions (public_id, org_id, project_id, agent_id, agent_public_id, created_at)
        select public_id || '-' || n, org_id, project_id, agent_id, agent_public_id, created_at
        from test_sessions, generate_series(2, 200) n where public_id = ${id}`
      const another = sessions.create(owner, { agent_id: other.public_id })
      expect((yield* Effect.flip(another))._tag).toBe("TestSessionLimitExceeded")
      yield* remove
      expect((yield* another).status).toBe("active")
    })
  )

  it.scoped("has ended when its project is deleted", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { create, get, owner, project } = yield* scene
      const { id } = yield* create
      yield* projects.remove(owner.org.id, project.public_id)
      expect((yield* get(id)).status).toBe("ended")
      expect(yield* reasonOf(id)).toEqual([{ ended_reason: "agent-deleted" }])
    })
  )

  it.scoped("that is created while its agent is being deleted is refused with AGENT_NOT_FOUND", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const { agent, create, project, remove } = yield* scene
      const deleting = yield* Deferred.make<void>()
      const commit = yield* Deferred.make<void>()
      yield* agents.onDelete("test", (id) =>
        id === agent.id ? Effect.zipRight(Deferred.succeed(deleting, undefined), Deferred.await(commit)) : Effect.void
      )
      const deletion = yield* Effect.fork(remove)
      yield* Deferred.await(deleting)
      const creation = yield* Effect.fork(Effect.either(create))
      const waits = sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      // Of a creation that does not wait, the session is inserted.
      const begun = sql`select 1 from test_sessions where project_id = ${project.id}`
      yield* until(Effect.all([waits, begun]), (found) => found.some((rows) => rows.length > 0))
      yield* Deferred.succeed(commit, undefined)
      yield* Fiber.join(deletion)
      expect(yield* Fiber.join(creation)).toMatchObject({ _tag: "Left", left: { _tag: "AgentNotFound" } })
      expect(yield* begun).toEqual([])
    })
  )
})
