import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Effect, Option, Redacted } from "effect"
import * as Credits from "../../src/commands/Credits.ts"
import * as Keys from "../../src/commands/Keys.ts"
import * as Org from "../../src/commands/Org.ts"
import * as Projects from "../../src/commands/Projects.ts"

/** Runs commands on a database of their own; gives what each printed. */
const session = Effect.gen(function* () {
  const url = yield* TestDatabase.freshUrl
  const settings = ConfigProvider.fromMap(new Map([["SVC_DATABASE_URL", Redacted.value(url)]]))
  return <E>(command: Effect.Effect<void, E>) =>
    Effect.gen(function* () {
      const printed: Array<string> = []
      const defaults = yield* Effect.console
      yield* Effect.withConsole(command, {
        ...defaults,
        log: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void printed.push(parts.join(" ")))
      })
      return printed.join("\n")
    }).pipe(Effect.withConfigProvider(settings))
})

const json = { json: true }
const none = { project: Option.none(), name: Option.none(), scope: Option.none(), scopes: Option.none() }

it.scopedLive("svc org creates and lists organizations, and sets their tier", () =>
  Effect.gen(function* () {
    const run = yield* session
    expect(yield* run(Org.list({ json: false }))).toBe("none")
    const made = JSON.parse(yield* run(Org.create({ name: " Acme ", tier: "payg", credits: "12.50", ...json })))
    expect(made.organization).toMatchObject({ name: "Acme", tier: "payg", balance_eur: 12.5, is_paused: false })
    const id = made.organization.public_id
    const moved = JSON.parse(yield* run(Org.setTier({ org: id, tier: "growth", ...json })))
    expect(moved.organization).toMatchObject({ tier: "growth", concurrent_call_limit: 100 })
    expect(yield* run(Org.list({ json: false }))).toMatch(/Acme\s+growth\s+12\.5\s+no\s+100/)
  })
)

it.scopedLive("svc org set-countries changes what an organization may call, and svc org countries shows it", () =>
  Effect.gen(function* () {
    const run = yield* session
    const made = JSON.parse(yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", ...json })))
    const org = made.organization.public_id
    const shown = Effect.map(run(Org.countries({ org, ...json })), (text) => JSON.parse(text))
    expect(yield* shown).toEqual({ organization: org, outbound_countries: "all", is_own: false })
    yield* run(Org.setCountries({ org, countries: " nl, BE", json: false }))
    expect(yield* shown).toEqual({ organization: org, outbound_countries: "BE,NL", is_own: true })
    expect(yield* run(Org.countries({ org, json: false }))).toBe(
      "Acme may call, transfer to and text: BE,NL (its own setting). Premium-rate numbers and satellite networks are never called."
    )
    const wrong = yield* Effect.flip(run(Org.setCountries({ org, countries: "NL,XX", ...json })))
    expect(String(wrong)).toContain("<countries> must be all, none, or a comma-separated list")
    expect(yield* shown).toMatchObject({ outbound_countries: "BE,NL" })
    yield* run(Org.setCountries({ org, countries: "none", ...json }))
    expect(yield* shown).toMatchObject({ outbound_countries: "none", is_own: true })
    yield* run(Org.setCountries({ org, countries: "default", ...json }))
    expect(yield* shown).toEqual({ organization: org, outbound_countries: "all", is_own: false })
    const unknown = yield* Effect.flip(run(Org.setCountries({ org: "org_nope", countries: "NL", ...json })))
    expect(String(unknown)).toContain("organization not found")
  })
)

it.scopedLive("svc org create prints each key once with what it is for, and what is missing", () =>
  Effect.gen(function* () {
    const run = yield* session
    const printed = yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", json: false }))
    for (const [key, use] of [
      [/^ {2}svc_live_[0-9a-f]{48}$/m, "project key: agents"],
      [/^ {2}svc_org_[0-9a-f]{48}$/m, "organization key: projects"],
      [/^ {2}svc_wsp_live_[0-9a-f]{48}$/m, "workspace key: booking customers"]
    ] as const) {
      expect(printed).toMatch(key)
      expect(printed).toContain(use)
    }
    expect(printed).toMatch(/no credits, and so no calls: svc credits add org_[0-9a-z]{24} <eur>$/)
    const paid = yield* run(Org.create({ name: "Paid", tier: "payg", credits: "5", json: false }))
    expect(paid).not.toContain("svc credits add")
    const made = JSON.parse(yield* run(Org.create({ name: "Acme", tier: "scale", credits: "1", ...json })))
    expect(made).toMatchObject({
      organization: { name: "Acme" },
      project: { id: expect.stringMatching(/^proj_/), internal_id: expect.any(Number), name: "Default" },
      keys: { org: expect.stringMatching(/^svc_org_/), project: expect.any(String), workspace: expect.any(String) }
    })
  })
)

it.scopedLive("a lost key is replaced: its holder is found, a new one made, and the old one revoked", () =>
  Effect.gen(function* () {
    const run = yield* session
    yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", json: false }))
    const [, org = ""] = /(org_[0-9a-z]+)/.exec(yield* run(Org.list({ json: false }))) ?? []
    const [, project = ""] = /(proj_[0-9a-z]+)\s+Default/.exec(yield* run(Projects.list({ org, json: false }))) ?? []
    const options = { org, project: Option.some(project) }
    const { keys } = JSON.parse(yield* run(Keys.list({ kind: Option.none(), ...options, ...json })))
    expect(keys).toHaveLength(1)
    const made = yield* run(Keys.create({ kind: "project", ...none, ...options, json: false }))
    expect(made).toMatch(/svc_live_[0-9a-f]{48}/)
    expect(yield* run(Keys.revoke({ id: String(keys[0].id), json: false }))).toContain("is revoked")
  })
)

it.scopedLive("svc project makes projects with a key, and lists them", () =>
  Effect.gen(function* () {
    const run = yield* session
    const { organization } = JSON.parse(yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", ...json })))
    const org = organization.public_id
    const made = JSON.parse(yield* run(Projects.create({ name: "Support", org, ...json })))
    expect(made).toMatchObject({ project: { name: "Support" }, key: expect.stringMatching(/^svc_live_[0-9a-f]{48}$/) })
    expect(yield* run(Projects.create({ name: "Sales", org, json: false }))).toMatch(/^ {2}svc_live_[0-9a-f]{48}$/m)
    const { projects } = JSON.parse(yield* run(Projects.list({ org, ...json })))
    expect(projects.map(({ name }: { readonly name: string }) => name)).toEqual(["Sales", "Support", "Default"])
    expect(yield* run(Projects.list({ org, json: false }))).toMatch(/proj_[0-9a-z]+\s+Sales/)
    expect(String(yield* Effect.flip(run(Projects.list({ org: "org_nope", ...json }))))).toContain(
      "organization not found: org_nope; svc org list shows all"
    )
  })
)

it.scopedLive("invalid input is reported and changes nothing", () =>
  Effect.gen(function* () {
    const run = yield* session
    for (const credits of ["x", "-1", "1.23456", "1e3", ""]) {
      const failure = yield* Effect.flip(run(Org.create({ name: "Acme", tier: "payg", credits, ...json })))
      expect(String(failure)).toContain("--credits must be an amount in EUR")
    }
    yield* Effect.flip(run(Org.create({ name: "  ", tier: "payg", credits: "0", ...json })))
    const unknown = yield* Effect.flip(run(Org.setTier({ org: "org_nope", tier: "growth", ...json })))
    expect(String(unknown)).toContain("organization not found")
    expect(yield* run(Org.list({ json: false }))).toBe("none")
  })
)

it.scopedLive("svc keys creates all kinds of keys, lists them by their hints, and revokes them", () =>
  Effect.gen(function* () {
    const run = yield* session
    const { organization } = JSON.parse(yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", ...json })))
    const org = organization.public_id
    const made = JSON.parse(yield* run(Keys.create({ kind: "org", org, ...none, ...json })))
    expect(made.key).toMatch(/^svc_org_[0-9a-f]{48}$/)
    yield* run(
      Keys.create({ kind: "workspace", org, ...none, scopes: Option.some(["bookings.customers.read"]), json: false })
    )
    const missing = yield* Effect.flip(run(Keys.create({ kind: "project", org, ...none, ...json })))
    expect(String(missing)).toContain(`--project is required; svc project list --org ${org} shows the projects`)
    const listed = yield* run(Keys.list({ kind: Option.none(), org, project: Option.none(), json: false }))
    expect(listed).toContain(made.key_hint)
    expect(listed).not.toContain(made.key)
    expect(listed).toContain("bookings.customers.read")
    expect(JSON.parse(yield* run(Keys.revoke({ id: String(made.id), ...json })))).toEqual({
      revoked: true,
      id: made.id
    })
    const again = yield* Effect.flip(run(Keys.revoke({ id: String(made.id), ...json })))
    expect(String(again)).toContain(`API key not found, or revoked: ${made.id}; svc keys list --org <id> shows`)
    const unknown = { org, ...none, project: Option.some("proj_nope"), ...json }
    expect(String(yield* Effect.flip(run(Keys.create({ kind: "project", ...unknown }))))).toContain(
      `project not found: proj_nope; svc project list --org ${org} shows those of the organization`
    )
  })
)

it.scopedLive("svc credits adds credits and resumes a paused account", () =>
  Effect.gen(function* () {
    const run = yield* session
    const { organization } = JSON.parse(yield* run(Org.create({ name: "Acme", tier: "payg", credits: "0", ...json })))
    const org = String(organization.id)
    expect(yield* run(Credits.showCredits({ org, json: false }))).toBe("0 EUR, payg, paused")
    expect(JSON.parse(yield* run(Credits.addCredits({ org, eur: "7.5", ...json })))).toMatchObject({
      balance_eur: 7.5,
      is_paused: false
    })
    yield* Effect.flip(run(Credits.addCredits({ org, eur: "0", ...json })))
    expect(String(yield* Effect.flip(run(Credits.showCredits({ org: "99", json: false }))))).toContain(
      "organization not found: 99; svc org list shows all"
    )
    expect(yield* run(Credits.showCredits({ org, json: false }))).toBe("7.5 EUR, payg")
  })
)
