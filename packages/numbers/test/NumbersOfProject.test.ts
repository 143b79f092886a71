import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { AgentsOfProject } from "@svc/agents/AgentsOfProject"
import { AgentsOnDatabase } from "@svc/agents/testing/AgentsOnDatabase"
import { UrlSafety } from "@svc/agents/UrlSafety"
import { Resolver } from "@svc/agents/UrlSafety/Resolver"
import { Voices } from "@svc/agents/Voices"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { Keys } from "@svc/auth/Keys"
import { KeysRepo } from "@svc/auth/KeysRepo"
import { KeyUse } from "@svc/auth/KeyUse"
import { Projects } from "@svc/auth/Projects"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, Effect, Exit, Layer, Option, Stream } from "effect"
import { NumbersOfProject } from "../src/NumbersOfProject.ts"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { PhoneNumbersRepo } from "../src/PhoneNumbersRepo.ts"

const Plugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [
    {
      id: "simulated",
      capabilities: {
        formats: [],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "none",
        earlyMedia: false,
        playbackMarks: "exact"
      },
      incoming: Stream.never,
      health: Effect.die("not asked"),
      routes: []
    }
  ],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined
})
const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

const Test = Layer.mergeAll(PhoneNumbers.layer, NumbersOfProject, AgentsOfProject).pipe(
  Layer.provideMerge(Layer.mergeAll(AgentsOnDatabase, Projects.layer)),
  Layer.provide(Keys.layer),
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, KeyUse.layer)),
  Layer.provide(Layer.mergeAll(PhoneNumbersRepo.layer, KeysRepo.layer, UrlSafety.layer, Voices.layer)),
  Layer.provide(Layer.mergeAll(AccountsRepo.layer, Dns, Plugins)),
  Layer.provideMerge(TestDatabase.layer)
)

/** A project with an agent that has a number. */
const furnished = (number: string) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const agents = yield* Agents
    const numbers = yield* PhoneNumbers
    const balance_eur = BigDecimal.fromBigInt(0n)
    const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur })
    const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
    const owner: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
    const { agent } = yield* agents.create(owner, {
      name: "Reception",
      server_url: "https://example.com/voice",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: false
    })
    const { id } = yield* numbers.import(owner, { number, telephony: "simulated" })
    yield* numbers.assign(project, String(id), agent.public_id)
    return { owner, org, project, agent }
  })

const route = (number: string) => Effect.flatMap(PhoneNumbers, (numbers) => numbers.route(number, "simulated"))

layer(Test)("a project that is deleted", (it) => {
  it.effect("takes its agents with it and gives its numbers back, and no others", () =>
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
      // The number is free again.
      yield* numbers.import(other.owner, { number: "+3225550101", telephony: "simulated" })
    })
  )

  it.effect("keeps everything when its deletion fails", () =>
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

  it.effect("takes no new agents and numbers", () =>
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
