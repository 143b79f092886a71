import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Projects } from "@svc/auth/Projects"
import { Cause, Effect, Exit } from "effect"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { owner, Test } from "./Fixture.ts"

const agentOf = (by: ProjectPrincipal) =>
  Effect.flatMap(Agents, (agents) =>
    Effect.map(
      agents.create(by, {
        name: "Reception",
        server_url: "https://example.com/voice",
        webhook_url: "https://example.com/events",
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false
      }),
      ({ agent }) => agent
    )
  )

let made = 0
const numberOf = (by: ProjectPrincipal) =>
  Effect.flatMap(PhoneNumbers, (numbers) =>
    numbers.import(by, { number: `+32255${String(50_000 + ++made)}`, telephony: "simulated" })
  )

layer(Test)("the numbers of a deleted agent", (it) => {
  it.effect("stay in the project without an agent; numbers of other agents do not change", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const by = yield* owner
      const [gone, other] = [yield* agentOf(by), yield* agentOf(by)]
      const ids = yield* Effect.replicateEffect(
        Effect.map(numberOf(by), ({ id }) => String(id)),
        3
      )
      yield* Effect.forEach(ids, (id, i) => numbers.assign(by.project, id, i < 2 ? gone.public_id : other.id))
      yield* agents.remove(by, gone.public_id)
      const { phone_numbers } = yield* numbers.list(by.project, { limit: 10 })
      expect(phone_numbers.map(({ agent_id, status }) => [agent_id, status])).toEqual([
        [other.public_id, "active"],
        [null, "active"],
        [null, "active"]
      ])
      // They can be assigned to another agent, and not to the deleted one.
      yield* numbers.assign(by.project, ids[0] ?? "", other.public_id)
      const error = yield* Effect.flip(numbers.assign(by.project, ids[1] ?? "", gone.public_id))
      expect(error.code).toBe("VALIDATION_ERROR")
    })
  )

  it.effect("never refer to it, also when they are assigned concurrently", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const ids = yield* Effect.replicateEffect(
        Effect.map(numberOf(by), ({ id }) => String(id)),
        4
      )
      for (let i = 0; i < 15; i++) {
        const [a, b] = [yield* agentOf(by), yield* agentOf(by)]
        yield* Effect.forEach(ids, (id) => numbers.assign(by.project, id, b.id))
        yield* Effect.all(
          [
            ...ids.map((id) => Effect.either(numbers.assign(by.project, id, a.id))),
            agents.remove(by, a.public_id),
            agents.remove(by, b.public_id)
          ],
          { concurrency: "unbounded" }
        )
        const lost = yield* sql`
          select n.id from phone_numbers n join agents a on a.id = n.agent_id where a.deleted_at is not null`
        expect(lost).toEqual([])
      }
    })
  )

  it.effect("are released when its project is deleted concurrently, also while the agent is changed", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      for (let i = 0; i < 21; i++) {
        const by = yield* owner
        const agent = yield* agentOf(by)
        const { id } = yield* numberOf(by)
        yield* numbers.assign(by.project, String(id), agent.id)
        const tries: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          agents.clone(by, agent.public_id, {}),
          agents.remove(by, agent.public_id),
          agents.clone(by, agent.public_id, {}),
          agents.update(by, agent.public_id, { webhook_url: null }),
          agents.update(by, agent.public_id, { webhook_url: "https://example.com/other" }),
          numbers.assign(by.project, String(id), null),
          numbers.assign(by.project, String(id), agent.id)
        ]
        // The deletion of the project starts among the others.
        const all = tries.toSpliced(i % (tries.length + 1), 0, projects.remove(by.org.id, by.project.public_id))
        const exits = yield* Effect.all(all.map(Effect.exit), { concurrency: "unbounded" })
        // A clone may fail because the project is deleted, but no transaction may fail with a deadlock.
        for (const exit of exits) expect(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "").not.toMatch(/deadlock/)
        const project = by.project.id
        expect(
          yield* sql`
            select
              (select count(*) from agents where project_id = ${project} and deleted_at is null) as agents,
              (select count(*) from webhooks where project_id = ${project}) as webhooks,
              (select count(*) from phone_numbers where project_id = ${project} and status = 'active') as numbers,
              (select count(*) from phone_numbers where project_id = ${project} and agent_id is not null) as assigned`
        ).toEqual([{ agents: 0, webhooks: 0, numbers: 0, assigned: 0 }])
      }
    })
  )
})
