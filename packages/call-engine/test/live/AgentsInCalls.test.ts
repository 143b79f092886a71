import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { NodeLease } from "@svc/cluster/NodeLease"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { CallAdmission } from "../../src/live/CallAdmission.ts"
import { agentOnNumber, Base, configuration, dial, Engine } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const Test = Layer.provideMerge(Engine, Base)

const talkative = () => configuration({ otherwise: "Ok." }, { first_message: "Hello." })

/** A ringing inbound call, and the reasons for which it was rejected. */
const ringing = (to: string) => {
  const rejected: Array<string | undefined> = []
  const incoming: IncomingCall = {
    id: "test",
    from: "+15550000001",
    to,
    headers: {},
    ringing: () => {},
    answer: () => Effect.die("not answered here"),
    reject: (_, reason) => void rejected.push(reason),
    canceled: Effect.never
  }
  return { incoming, rejected }
}

/** An agent, a call to it that can be admitted any number of times, and its deletion. */
const scene = Effect.gen(function* () {
  const agents = yield* Agents
  const admission = yield* CallAdmission
  const lease = yield* NodeLease
  const { agent, number, owner } = yield* agentOnNumber(talkative)
  const { id: node_id } = yield* lease.current
  const known = yield* agents.forCall(agent.id)
  const { incoming, rejected } = ringing(number)
  const admit = admission.admit({
    telephony: { id: "simulated" },
    incoming,
    node_id,
    org_id: owner.org.id,
    project_id: owner.project.id,
    agent: known
  })
  return { agent, owner, number, rejected, admit, remove: Effect.either(agents.remove(owner, agent.public_id)) }
})

const rows = (number: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly agent_id: number | null; readonly status: string; readonly live: boolean }>`
      select agent_id, status, ended_at is null as live from calls where to_number = ${number}`
  )

/** Completes when a session of this database waits for a lock. */
const untilLockWait = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.repeat(sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`, {
    until: (found) => found.length > 0
  })
)

describe("deleting an agent", () => {
  layer(Test, { timeout: "60 seconds", excludeTestServices: true })("with calls", (it) => {
    it.scoped("is rejected with AGENT_HAS_ACTIVE_CALLS until its call has ended, and unassigns its number", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const numbers = yield* PhoneNumbers
        const { agent, number, owner } = yield* agentOnNumber(talkative)
        const caller = yield* dial(number)
        yield* caller.hears(/Hello/)
        const busy = yield* Effect.flip(agents.remove(owner, agent.public_id))
        expect([busy.status, busy.message]).toEqual([409, "agent has active calls"])
        const copy = yield* Effect.flip(agents.clone(owner, agent.public_id, {}))
        expect(copy.message).toBe("cannot clone agent with active calls in progress")
        caller.send({ event: "say", text: "Still there?" })
        yield* caller.hears(/Ok/)
        caller.send({ event: "hangup" })
        const record = yield* Record.settled(number)
        expect(record.outcome).toBe("completed answered caller-hangup")
        yield* agents.clone(owner, agent.public_id, {})
        yield* agents.remove(owner, agent.public_id)
        const { phone_numbers } = yield* numbers.list(owner.project, { limit: 10 })
        expect(phone_numbers).toMatchObject([{ number, agent_id: null, status: "active" }])
        const late = yield* dial(number)
        yield* late.until("rejected")
      })
    )

    it.scoped("waits for a call that is being admitted, and is then rejected", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const agents = yield* Agents
        const { admit, agent, number, remove, owner } = yield* scene
        const admitted = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        const call = yield* admit.pipe(
          Effect.tap(() => Deferred.succeed(admitted, undefined)),
          Effect.zipLeft(Deferred.await(commit)),
          sql.withTransaction,
          Effect.fork
        )
        yield* Deferred.await(admitted)
        const deletion = yield* Effect.fork(remove)
        yield* untilLockWait
        yield* Deferred.succeed(commit, undefined)
        expect((yield* Fiber.join(call))?.status).toBe("ringing")
        const result = yield* Fiber.join(deletion)
        expect(result._tag === "Left" && result.left.code).toBe("AGENT_HAS_ACTIVE_CALLS")
        expect(yield* rows(number)).toEqual([{ agent_id: agent.id, status: "ringing", live: true }])
        yield* agents.get(owner.project, agent.public_id)
      })
    )

    it.scoped("makes a concurrent call wait, which is then rejected", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const { admit, agent, number, rejected, remove } = yield* scene
        const deleting = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        yield* agents.onDelete("test", (id) =>
          id === agent.id ? Effect.zipRight(Deferred.succeed(deleting, undefined), Deferred.await(commit)) : Effect.void
        )
        const deletion = yield* Effect.fork(remove)
        yield* Deferred.await(deleting)
        const call = yield* Effect.fork(admit)
        yield* untilLockWait
        yield* Deferred.succeed(commit, undefined)
        expect((yield* Fiber.join(deletion))._tag).toBe("Right")
        expect(yield* Fiber.join(call)).toBeUndefined()
        expect(rejected).toEqual(["the number has no agent"])
        expect(yield* rows(number)).toEqual([{ agent_id: null, status: "rejected", live: false }])
      })
    )

    it.scoped("among concurrent calls either is rejected and all are admitted, or succeeds and all are rejected", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const agents = yield* Agents
        const size = 16
        /** Checks that the calls and the deletion of an agent agree, and returns whether the agent is deleted. */
        const outcome = (
          { agent, number }: Effect.Effect.Success<typeof scene>,
          deletion: { readonly _tag: "Left" | "Right" },
          admitted: ReadonlyArray<unknown>
        ) =>
          Effect.gen(function* () {
            const taken = admitted.filter((one) => one !== undefined).length
            const deleted = deletion._tag === "Right"
            expect([deleted, taken]).toEqual([deleted, deleted ? 0 : size])
            const records = yield* rows(number)
            expect(records).toHaveLength(size)
            expect(records.filter((call) => call.live).length).toBe(taken)
            expect(records.every((call) => call.agent_id === (deleted ? null : agent.id))).toBe(true)
            return deleted ? "gone" : "stayed"
          })
        const outcomes: Array<string> = []
        for (let round = 0; round < 24; round++) {
          const all = yield* scene
          const calls = Array.from({ length: size }, () => all.admit)
          // The deletion begins a little later in each round.
          const [before, after] = [calls.slice(0, round % 17), calls.slice(round % 17)]
          const [first, deletion, second] = yield* Effect.all(
            [
              Effect.all(before, { concurrency: "unbounded" }),
              all.remove,
              Effect.all(after, { concurrency: "unbounded" })
            ],
            { concurrency: "unbounded" }
          )
          outcomes.push(yield* outcome(all, deletion, [...first, ...second]))
        }

        // Which comes first in those rounds depends on the machine. In this one it is the deletion.
        const late = yield* scene
        const deleting = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        yield* agents.onDelete("test", (id) =>
          id === late.agent.id
            ? Effect.zipRight(Deferred.succeed(deleting, undefined), Deferred.await(commit))
            : Effect.void
        )
        const deletion = yield* Effect.fork(late.remove)
        yield* Deferred.await(deleting)
        const refused = yield* Effect.fork(
          Effect.all(
            Array.from({ length: size }, () => late.admit),
            { concurrency: "unbounded" }
          )
        )
        yield* untilLockWait
        yield* Deferred.succeed(commit, undefined)
        outcomes.push(yield* outcome(late, yield* Fiber.join(deletion), yield* Fiber.join(refused)))
        expect(outcomes.at(-1)).toBe("gone")

        // In this one it is a call; the others come beside the deletion.
        const early = yield* scene
        const admitted = yield* Deferred.make<void>()
        const end = yield* Deferred.make<void>()
        const held = yield* early.admit.pipe(
          Effect.tap(() => Deferred.succeed(admitted, undefined)),
          Effect.zipLeft(Deferred.await(end)),
          sql.withTransaction,
          Effect.fork
        )
        yield* Deferred.await(admitted)
        const removal = yield* Effect.fork(early.remove)
        yield* untilLockWait
        const others = yield* Effect.fork(
          Effect.all(
            Array.from({ length: size - 1 }, () => early.admit),
            { concurrency: "unbounded" }
          )
        )
        yield* Deferred.succeed(end, undefined)
        const accepted = [yield* Fiber.join(held), ...(yield* Fiber.join(others))]
        outcomes.push(yield* outcome(early, yield* Fiber.join(removal), accepted))
        expect(outcomes.at(-1)).toBe("stayed")
        expect(new Set(outcomes)).toEqual(new Set(["gone", "stayed"]))
      })
    )
  })
})
