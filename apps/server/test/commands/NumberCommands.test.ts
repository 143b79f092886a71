import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Accounts } from "@svc/auth/Accounts"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, ConfigProvider, Effect, Option, Redacted } from "effect"
import { CommandServices } from "../../src/commands/CommandServices.ts"
import { Operator } from "../../src/commands/Confirmation.ts"
import * as Numbers from "../../src/commands/Numbers.ts"

/** An organization with one project and this balance, and a way to run commands for it beside the simulated carrier. */
const session = (eur: string) =>
  Effect.gen(function* () {
    const settings = ConfigProvider.fromMap(
      new Map([
        ["SVC_DATABASE_URL", Redacted.value(yield* TestDatabase.freshUrl)],
        ["SVC_PLUGINS", "@svc/plugin-simulated"],
        ["SVC_SIMULATED_CARRIER_FILE", join(tmpdir(), `svc-carrier-${crypto.randomUUID()}.jsonl`)]
      ])
    )
    const accounts = <A>(use: (service: typeof Accounts.Service) => Effect.Effect<A>) =>
      Effect.flatMap(Accounts, use).pipe(Effect.provide(CommandServices), Effect.withConfigProvider(settings))
    const { org, project } = yield* accounts((service) =>
      Effect.gen(function* () {
        const balance_eur = BigDecimal.unsafeFromString(eur)
        const made = yield* service.createOrganization({ name: "Acme", tier: "payg", balance_eur })
        return { org: made, project: yield* service.createProject(made.id, { name: "Default", description: null }) }
      })
    )
    const another = accounts((service) => service.createProject(org.id, { name: "Another", description: null }))
    const asked: Array<string> = []
    return {
      owner: { org: org.public_id, project: Option.none<string>(), json: true },
      project,
      another,
      asked,
      /** Runs a command; null: nobody is at the terminal. */
      run: <E>(command: Effect.Effect<void, E, Operator>, answer: string | null = null) =>
        Effect.gen(function* () {
          const printed: Array<string> = []
          const defaults = yield* Effect.console
          const keep = (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void printed.push(parts.join(" ")))
          const shown = (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void asked.push(parts.join(" ")))
          yield* Effect.withConsole(command, { ...defaults, log: keep, error: shown }).pipe(
            Effect.provideService(Operator, {
              isPresent: Effect.succeed(answer !== null),
              ask: (question) => Effect.sync(() => asked.push(question)).pipe(Effect.as(answer ?? ""))
            })
          )
          return printed.join("\n")
        }).pipe(Effect.withConfigProvider(settings))
    }
  })

const without = { agent: Option.none<string>(), address: Option.none<number>(), yes: false }
const number = "+12125550100"

it.scopedLive("svc numbers buys after a yes, lists with the next rent, and releases after a yes", () =>
  Effect.gen(function* () {
    const { asked, owner, run } = yield* session("12")
    const found = JSON.parse(
      yield* run(Numbers.search({ ...owner, query: { country: "US", area: "212", limit: 2 } }))
    ).phone_numbers
    expect(found).toHaveLength(2)
    expect(found[0]).toMatchObject({ country: "US", area: "New York", monthly_cost_eur: 5 })

    const purchase = Numbers.buy({ ...owner, ...without, number })
    for (const answer of ["", "n", "no", "yesterday"]) {
      expect(String(yield* Effect.flip(run(purchase, answer)))).toContain("nothing was bought")
    }
    expect(asked.slice(0, 2)).toEqual([
      `${number} costs 5 EUR per month, the first one now. Acme has 12 EUR.`,
      "Buy? [y/N] "
    ])
    expect(yield* run(Numbers.list({ ...owner, json: false }))).toBe("none")

    const bought = JSON.parse(yield* run(purchase, " Y "))
    expect(bought).toMatchObject({ balance_eur: 7, phone_number: { number, agent_id: null } })
    const listed = yield* run(Numbers.list({ ...owner, json: false }))
    expect(listed).toMatch(/\+12125550100\s+local\s+US\s+–\s+5\s+simulated\s+\d{4}-\d\d-\d\d$/)

    const release = Numbers.release({ ...owner, number, yes: false })
    expect(String(yield* Effect.flip(run(release, "n")))).toContain(`${number} was not released`)
    expect(JSON.parse(yield* run(release, "yes"))).toEqual({ deleted: true, id: bought.phone_number.id })
    expect(yield* run(Numbers.list({ ...owner, json: false }))).toBe("none")
    expect(String(yield* Effect.flip(run(release, "yes")))).toContain("is not an active number")
  })
)

it.scopedLive("svc numbers buy and release refuse without --yes when nobody can answer", () =>
  Effect.gen(function* () {
    const { asked, owner, run } = yield* session("12")
    const refused = yield* Effect.flip(run(Numbers.buy({ ...owner, ...without, number })))
    expect(String(refused)).toContain("standard input is not a terminal")
    expect(String(refused)).toContain("--yes")
    yield* run(Numbers.buy({ ...owner, ...without, number, yes: true }))
    const kept = yield* Effect.flip(run(Numbers.release({ ...owner, number, yes: false })))
    expect(String(kept)).toContain(`${number} was not released: repeat it with --yes`)
    expect(asked).toEqual([])
    expect(JSON.parse(yield* run(Numbers.list(owner))).phone_numbers).toHaveLength(1)
  })
)

it.scopedLive("svc numbers buy says in words why the API refuses, and what to do", () =>
  Effect.gen(function* () {
    const { owner, run } = yield* session("7")
    const refusal = (of: Partial<Parameters<typeof Numbers.buy>[0]>) =>
      Effect.map(Effect.flip(run(Numbers.buy({ ...owner, ...without, number, yes: true, ...of }))), String)
    expect(yield* refusal({ number: "+31205580001" })).toContain("needs an address: --address is required")
    expect(yield* refusal({ address: Option.some(9) })).toContain("--address must be the id of an address")
    expect(yield* refusal({ agent: Option.some("agent_nope") })).toContain("--agent must be the id of an agent")
    expect(yield* refusal({ number: "+12125559999" })).toContain("the carrier refused the purchase of +12125559999: ")
    yield* run(Numbers.buy({ ...owner, ...without, number, yes: true }))
    expect(yield* refusal({})).toContain(`${number} is active in this installation already`)
    const poor = yield* refusal({ number: "+12125550101" })
    expect(poor).toContain("(2 EUR, less what calls and other orders hold) do not cover 5 EUR")
    expect(poor).toContain(`svc credits add ${owner.org} <eur>`)
  })
)

it.scopedLive(
  "svc numbers assign takes a number or its id, and names an unknown agent; --project settles which one",
  () =>
    Effect.gen(function* () {
      const { another, owner, project, run } = yield* session("7")
      const { phone_number } = JSON.parse(yield* run(Numbers.buy({ ...owner, ...without, number, yes: true })))
      for (const text of [number, String(phone_number.id)]) {
        const assigned = yield* run(Numbers.assign({ ...owner, number: text, agent: "none", json: false }))
        expect(assigned).toBe(`${number} has no agent; calls to it are rejected.`)
      }
      const unknown = yield* Effect.flip(run(Numbers.assign({ ...owner, number, agent: "agent_nope" })))
      expect(String(unknown)).toContain(`agent_nope is not an agent of project ${project.public_id}`)
      yield* another
      expect(String(yield* Effect.flip(run(Numbers.list(owner))))).toContain("say with --project which one")
      const named = { ...owner, project: Option.some(project.public_id) }
      expect(JSON.parse(yield* run(Numbers.list(named))).phone_numbers).toHaveLength(1)
    })
)
