import { HttpApi } from "@effect/platform"
import type { SqlClient } from "@effect/sql"
import { expect } from "@effect/vitest"
import type { WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { HandlerRegistry } from "@svc/api/Handlers"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import type { Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { AuthFailuresRepo } from "@svc/auth/AuthFailuresRepo"
import * as AuthSlice from "@svc/auth/AuthSlice"
import { Keys } from "@svc/auth/Keys"
import { RateLimits } from "@svc/auth/RateLimits"
import { RateLimitsRepo } from "@svc/auth/RateLimitsRepo"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import * as BillingSlice from "@svc/billing/BillingSlice"
import * as BookingsSlice from "@svc/bookings/BookingsSlice"
import type { Customers } from "@svc/bookings/Customers"
import { CustomersHttp } from "@svc/bookings/CustomersHttp"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { ClientAddress } from "../../src/http/access/ClientAddress.ts"
import { Security } from "../../src/http/access/Security.ts"
import { HttpServer, layerOf } from "../../src/http/listening/HttpServer.ts"
import { PluginSockets } from "../../src/http/plugins/PluginSockets.ts"
import * as WorkspacePipeline from "../../src/http/workspace/WorkspacePipeline.ts"
import { ask } from "./Client.ts"
import { type EnvelopeAnswer, envelopeOf } from "./WorkspaceWire.ts"

/** A server of the workspace API on a database of its own: everything is real, and limits are high unless a test sets them. */

const highLimits = {
  SVC_PORT: "0",
  SVC_STRICT_RESPONSES: "true",
  SVC_LIMIT_AUTH_FAILURES: "100000",
  SVC_LIMIT_WORKSPACE_KEY_PER_MINUTE: "100000",
  SVC_LIMIT_WORKSPACE_ORG_PER_MINUTE: "100000"
}

const NoPlugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})

/** There is no other node. */
const SingleNode = Layer.mergeAll(
  Layer.succeed(AuthFailuresRepo, {
    write: () => Effect.void,
    ofOthers: () => Effect.succeed([]),
    removeBefore: () => Effect.void
  }),
  Layer.succeed(RateLimitsRepo, { exchange: () => Effect.succeed([]), removeBefore: () => Effect.void }),
  Layer.mock(NodeLease, { others: Effect.succeed(0) })
)

/** The parts of the server that a test may replace. */
export interface Parts {
  /** Variables, such as limits. */
  readonly settings?: { readonly [variable: string]: string }
  readonly pipeline?: typeof WorkspacePipeline.WorkspacePipeline.layer
  readonly customers?: typeof Customers.layer
  /** A database that outlives the server. */
  readonly database?: typeof TestDatabase.layer
  /** Another clock than the real one. */
  readonly clock?: Layer.Layer<never>
}

/** The layer of a server on a free port; every call is another server with another database. */
export const workspaceServer = ({ clock, customers, database, pipeline, settings }: Parts = {}) =>
  layerOf(HttpApi.make("none"), WorkspacePipeline.routes).pipe(
    Layer.provide(Layer.mergeAll(CustomersHttp, pipeline ?? WorkspacePipeline.WorkspacePipeline.layer)),
    Layer.provide(
      customers === undefined ? BookingsSlice.services : Layer.provideMerge(customers, BookingsSlice.services)
    ),
    Layer.provide(Layer.mergeAll(AuthFailures.layer, RateLimits.layer, WorkspaceLimits.layer)),
    Layer.provide(SingleNode),
    Layer.provideMerge(AuthSlice.services),
    Layer.provide(Layer.merge(BillingSlice.balance, Outbox.layerWithoutDeliveries)),
    Layer.provide(
      Layer.mergeAll(ClientAddress.layer, PluginSockets.layer, HandlerRegistry.layer, RouteRegistry.layer, NoPlugins)
    ),
    Layer.provide(Layer.mock(Security, {})),
    Layer.provideMerge(database ?? TestDatabase.layer),
    Layer.provide(Logger.remove(Logger.defaultLogger)),
    Layer.provide(clock ?? Layer.empty),
    Layer.provide(
      Layer.setConfigProvider(
        ConfigProvider.orElse(ConfigProvider.fromMap(new Map(Object.entries({ ...highLimits, ...settings }))), () =>
          ConfigProvider.fromEnv()
        )
      )
    )
  )

/** What a test of the server may ask for. */
export type Workspace = HttpServer | Accounts | Keys | SqlClient.SqlClient

export const read: WorkspaceScope = "bookings.customers.read"
export const write: WorkspaceScope = "bookings.customers.write"
export const remove: WorkspaceScope = "bookings.customers.delete"

/** A new organization. `key` may do everything; `keyWith` makes another of its keys. */
export const organization = (tier: Tier = "enterprise") =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* Keys
    const org = yield* accounts.createOrganization({ name: "Acme", tier, balance_eur: BigDecimal.fromBigInt(0n) })
    const keyWith = (scopes: ReadonlyArray<WorkspaceScope>, expires_at: Date | null = null) =>
      Effect.map(keys.issue({ kind: "workspace", org_id: org.id, scopes, expires_at }, { name: "K" }), (issued) => ({
        id: issued.id,
        key: Redacted.value(issued.key)
      }))
    const { id: keyId, key } = yield* keyWith([read, write, remove])
    return { org, key, keyId, keyWith }
  })

export const base = "/api/workspace/v1"
const customers = `${base}/bookings/customers`

export interface Options {
  readonly key?: string
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown
  /** `Idempotency-Key` */
  readonly once?: string
  readonly headers?: { readonly [name: string]: string }
}

/** One request to the server, whose answer is checked for what every answer has. See docs/reference/workspace.md. */
export const requestAt = (
  method: string,
  path: string,
  { body, headers, key, once }: Options = {}
): Effect.Effect<EnvelopeAnswer, Error, HttpServer> =>
  Effect.flatMap(HttpServer, ({ port }) =>
    Effect.flatMap(
      ask(port, {
        method,
        path,
        ...(key === undefined ? {} : { key }),
        headers: { ...headers, ...(once === undefined ? {} : { "idempotency-key": once }) },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      }),
      envelopeOf
    )
  )

/** The same below `/bookings/customers`. */
export const request = (method: string, path: string, options?: Options) => requestAt(method, customers + path, options)

/** Makes a customer, which must succeed. */
export const made = (key: string, fields: { readonly [field: string]: unknown } = {}) =>
  Effect.map(
    request("POST", "", { key, body: { name: "Anna de Vries", email: "anna@example.com", ...fields } }),
    (answer) => {
      expect([answer.status, answer.body.error]).toEqual([201, undefined])
      return answer.customer
    }
  )

/** A response without the parts that differ between two requests: the request's id. */
export const withoutRequestId = ({ body: { meta, ...rest }, status }: EnvelopeAnswer) => {
  const { request_id: _, ...others } = meta
  return { status, ...rest, meta: others }
}
