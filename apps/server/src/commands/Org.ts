import type { OrganizationInfo } from "@svc/api/accounts/Organization"
import type { Tier } from "@svc/api/Principal"
import { Administration } from "@svc/auth/Administration"
import { toOrgProject } from "@svc/auth/ProjectWire"
import { countriesOf, countriesSyntax, countriesText } from "@svc/numbers/OutboundCountries"
import { serverCountries } from "@svc/numbers/OutboundNumbers"
import { Console, Data, Effect, Record, Redacted } from "effect"
import { CommandServices } from "./CommandServices.ts"
import { readEur } from "./Eur.ts"
import { namesWhatIsNotFound } from "./NotFound.ts"
import { table } from "./Table.ts"

const row = (org: OrganizationInfo) => ({
  id: org.id,
  public_id: org.public_id,
  name: org.name,
  tier: org.tier,
  balance_eur: org.balance_eur,
  paused: org.is_paused ? "yes" : "no",
  concurrent_calls: org.concurrent_call_limit
})

/** `svc org list` */
export const list = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const organizations = yield* Effect.flatMap(Administration, (admin) => admin.organizations)
    yield* Console.log(options.json ? JSON.stringify({ organizations }) : table(organizations.map(row)))
  }).pipe(Effect.provide(CommandServices))

const notShownAgain =
  "Note them now, they are not shown again. In the place of a lost one: svc keys create, and svc keys revoke."

/** `svc org create <name> [--tier t] [--credits eur]` */
export const create = (options: {
  readonly name: string
  readonly tier: Tier
  readonly credits: string
  readonly json: boolean
}) =>
  Effect.gen(function* () {
    const admin = yield* Administration
    const credits = yield* readEur(options.credits, "--credits")
    const { keys, organization, project } = yield* admin.createOrganization({
      name: options.name,
      tier: options.tier,
      credits
    })
    const raw = Record.map(keys, Redacted.value)
    if (options.json) {
      yield* Console.log(JSON.stringify({ organization, project: toOrgProject(project), keys: raw }))
      return
    }
    yield* Console.log(
      [
        `Organization ${organization.public_id} with project ${project.public_id}. Its keys:`,
        "",
        `  ${raw.project}`,
        "      project key: agents, numbers and calls of the project, by the voice API",
        `  ${raw.org}`,
        "      organization key: projects and their keys, and everything that a project key can do",
        `  ${raw.workspace}`,
        "      workspace key: booking customers, by the workspace API",
        "",
        notShownAgain,
        ...(organization.is_paused
          ? [`It has no credits, and so no calls: svc credits add ${organization.public_id} <eur>`]
          : [])
      ].join("\n")
    )
  }).pipe(Effect.provide(CommandServices))

const premium = "Premium-rate numbers and satellite networks are never called."

/** `svc org countries <id>` */
export const countries = (options: { readonly org: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const admin = yield* Administration
    const { countries: own, organization } = yield* admin.outboundCountries(options.org)
    const server = countriesText(yield* serverCountries)
    const outbound_countries = own ?? server
    yield* Console.log(
      options.json
        ? JSON.stringify({ organization: organization.public_id, outbound_countries, is_own: own !== undefined })
        : `${organization.name} may call, transfer to and text: ${outbound_countries} (${
            own === undefined ? "SVC_OUTBOUND_COUNTRIES of this command's environment" : "its own setting"
          }). ${premium}`
    )
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))

/** The value is not one that `svc org set-countries` accepts. */
export class InvalidCountries extends Data.TaggedError("InvalidCountries")<{ readonly message: string }> {}

/** `svc org set-countries <id> <countries>` */
export const setCountries = (options: { readonly org: string; readonly countries: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const isDefault = options.countries.trim().toLowerCase() === "default"
    const read = isDefault ? undefined : countriesOf(options.countries)
    if (!isDefault && read === undefined) {
      return yield* new InvalidCountries({ message: `<countries> must be ${countriesSyntax}, or default` })
    }
    const admin = yield* Administration
    const own = read === undefined ? null : countriesText(read)
    const { name, public_id } = yield* admin.setOutboundCountries(options.org, own)
    const outbound_countries = own ?? countriesText(yield* serverCountries)
    yield* Console.log(
      options.json
        ? JSON.stringify({ organization: public_id, outbound_countries, is_own: own !== null })
        : own === null
          ? `${name} may call, transfer to and text what SVC_OUTBOUND_COUNTRIES of the server says. ${premium}`
          : `${name} may call, transfer to and text: ${own}. ${premium}`
    )
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))

/** `svc org set-tier <id> <tier>` */
export const setTier = (options: { readonly org: string; readonly tier: Tier; readonly json: boolean }) =>
  Effect.gen(function* () {
    const organization = yield* Effect.flatMap(Administration, (admin) => admin.setTier(options.org, options.tier))
    yield* Console.log(options.json ? JSON.stringify({ organization }) : table([row(organization)]))
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))
