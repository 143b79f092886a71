import { HttpApi } from "@effect/platform"
import { OrganizationApi } from "@svc/api/accounts/OrganizationApi"
import { ProjectApi } from "@svc/api/accounts/ProjectApi"
import { OrgProjectsApi, ProjectsApi } from "@svc/api/accounts/ProjectsApi"
import { HandlerRegistry } from "@svc/api/Handlers"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import type { Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AuthFailures } from "@svc/auth/AuthFailures"
import * as AuthSlice from "@svc/auth/AuthSlice"
import { Balance } from "@svc/auth/Balance"
import { Keys } from "@svc/auth/Keys"
import { Organizations } from "@svc/auth/Organizations"
import { RateLimits } from "@svc/auth/RateLimits"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { ClientAddress } from "../../src/http/access/ClientAddress.ts"
import { Credits } from "../../src/http/access/Credits.ts"
import { Security } from "../../src/http/access/Security.ts"
import { HttpServer, layerOf } from "../../src/http/listening/HttpServer.ts"
import { PluginSockets } from "../../src/http/plugins/PluginSockets.ts"
import { type Answer, type Ask, ask } from "./Client.ts"

/** A server of the accounts endpoints: everything is real except rate limits and balances. */

const AccountsApi = HttpApi.make("accounts").add(OrganizationApi).add(OrgProjectsApi).add(ProjectsApi).add(ProjectApi)

const balances = new Map<number, number>()

const FixedBalances = Layer.succeed(Balance, {
  of: (orgId) => Effect.sync(() => BigDecimal.unsafeFromNumber(balances.get(orgId) ?? 0))
})
const FixedCredits = Layer.effect(
  Credits,
  Effect.map(Organizations, (organizations) => ({
    mayWrite: (orgId) => Effect.orDie(Effect.map(organizations.info(orgId), (info) => !info.is_paused))
  }))
)
const generous = (_: string, limit: number | null) => ({
  admitted: true,
  limit,
  remaining: limit,
  resetAt: 0,
  resetIn: 60
})
const Unlimited = Layer.mergeAll(
  Layer.succeed(AuthFailures, { blockedFor: () => undefined, record: () => undefined, size: () => 0 }),
  Layer.succeed(RateLimits, { consume: generous, peek: generous, size: () => 0 })
)

const NoPlugins = {
  plugins: [],
  telephony: [],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
}

const Services = AuthSlice.services.pipe(Layer.provideMerge(FixedBalances))

export const AccountsServer = layerOf(AccountsApi).pipe(
  Layer.provideMerge(AuthSlice.handlers),
  Layer.provide(Security.layer.pipe(Layer.provide(Layer.mergeAll(FixedCredits, Unlimited)))),
  Layer.provideMerge(Services),
  Layer.provide(ClientAddress.layer),
  Layer.provide(Layer.succeed(Providers, NoPlugins)),
  Layer.provide(Layer.mergeAll(PluginSockets.layer, HandlerRegistry.layer, RouteRegistry.layer)),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provide(Logger.remove(Logger.defaultLogger)),
  Layer.provide(
    Layer.setConfigProvider(
      ConfigProvider.orElse(
        ConfigProvider.fromMap(
          new Map([
            ["SVC_PORT", "0"],
            ["SVC_STRICT_RESPONSES", "true"]
          ])
        ),
        () => ConfigProvider.fromEnv()
      )
    )
  )
)

/** A new organization with a project and a key of each kind. */
export const customer = (options: { readonly tier?: Tier; readonly balance?: number } = {}) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* Keys
    const org = yield* accounts.createOrganization({
      name: "Acme",
      tier: options.tier ?? "enterprise",
      balance_eur: BigDecimal.fromBigInt(0n)
    })
    balances.set(org.id, options.balance ?? 0)
    const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
    const ofProject = { kind: "project", org_id: org.id, project_id: project.id } as const
    const orgKey = yield* keys.issue({ kind: "org", org_id: org.id }, { name: "Default" })
    const fullKey = yield* keys.issue({ ...ofProject, scope: "full" }, { name: "Full" })
    const readKey = yield* keys.issue({ ...ofProject, scope: "read" }, { name: "Read" })
    return {
      org,
      project,
      orgKey: Redacted.value(orgKey.key),
      orgKeyId: orgKey.id,
      fullKey: Redacted.value(fullKey.key),
      fullKeyId: fullKey.id,
      readKey: Redacted.value(readKey.key)
    }
  })

/** One request; a body that is not text or bytes goes as JSON. */
export const request = (
  method: string,
  path: string,
  options: { readonly key?: string; readonly body?: unknown; readonly headers?: NonNullable<Ask["headers"]> } = {}
): Effect.Effect<Answer & { readonly json: unknown }, Error, HttpServer> =>
  Effect.flatMap(HttpServer, ({ port }) =>
    Effect.map(
      ask(port, {
        method,
        path,
        ...(options.key === undefined ? {} : { key: options.key }),
        ...(options.headers === undefined ? {} : { headers: options.headers }),
        ...(options.body === undefined
          ? {}
          : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) })
      }),
      (answer) => ({ ...answer, json: answer.text === "" ? undefined : JSON.parse(answer.text) })
    )
  )
