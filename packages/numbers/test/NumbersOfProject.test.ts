import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { Projects } from "@svc/auth/Projects"
import { Effect, Exit, Option } from "effect"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { owner, Test } from "./Fixture.ts"

/** A project with an agent that has a number. */
const furnished = (number: string) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const numbers = yield* PhoneNumbers
    const by = yield* owner
    const { org, project } = by
    const { agent } = yield* agents.create(by, {
      name: "Reception",
      server_url: "https://example.com/voice",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: false
    })
    const { id } = yield* numbers.import(by, { number, telephony: "simulated" })
    yield* numbers.assign(project, String(id), agent.public_id)
    return { owner: by, org, project, agent }
  })

const route = (number: string) => Effect.flatMap(PhoneNumbers, (numbers) => numbers.route(number, "simulated"))

layer(Test)("deletion of a project", (it) => {
  it.effect("deletes its agents and releases its numbers, and no others", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const numbers = yield* PhoneNumbers
      const projects = yield* Projects
      const mine = yield* furnished("+3225550101")
      const other = yield* furnished("+3225550102")
      yield* projects.remove(mine.org.id, mine.project.public_id)
      expect((yield* Effect.flip(agents.get(mine.project, mine.agent.public_id))).code).toBe("AGENT_NOT_FOUND")
      expect((yield* Effect.flip(agents.forCall(mine.agent.id))).code).toBe("AGENT_NOT_FOUND")
      expect(Option.isNone(yield* route("+3225550101"))).toBe(true)
      yield* agents.get(other.project, other.agent.public_id)
      expect(Option.isSome(yield* route("+3225550102"))).toBe(true)
      // The number can be imported again.
      yield* numbers.import(other.owner, { number: "+3225550101", telephony: "simulated" })
    })
  )

  it.effect("changes nothing when it fails", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const { agent, org, project } = yield* furnished("+3225550103")
      yield* sql`alter table phone_numbers add constraint broken check (status = 'active') not valid`
      expect(Exit.isFailure(yield* Effect.exit(projects.remove(org.id, project.public_id)))).toBe(true)
      yield* sql`alter table phone_numbers drop constraint broken`
      yield* agents.get(project, agent.public_id)
      expect(Option.isSome(yield* route("+3225550103"))).toBe(true)
      yield* projects.get(org.id, project.public_id)
    })
  )

  it.effect("prevents new agents and numbers in the project", () =>
    Effect.gen(function* () {
      const numbers = yield* PhoneNumbers
      const projects = yield* Projects
      const { org, owner, project } = yield* furnished("+3225550104")
      yield* projects.remove(org.id, project.public_id)
      const late = numbers.import(owner, { number: "+3225550105", telephony: "simulated" })
      expect(Exit.isFailure(yield* Effect.exit(late))).toBe(true)
      expect(Option.isNone(yield* route("+3225550105"))).toBe(true)
    })
  )
})
