import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { HandlerRegistry, type RegisteredGroup } from "@svc/api/Handlers"
import { OrgId, ProjectId } from "@svc/api/Ids"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import { AccessRule, CurrentPrincipal, type Principal } from "@svc/api/Principal"
import { define, InvalidApiKey, ProjectNotFound } from "@svc/api/VoiceError"
import { Limit } from "@svc/api/Wire"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { AuthFailuresRepo } from "@svc/auth/AuthFailuresRepo"
import { Keys } from "@svc/auth/Keys"
import { RateLimits } from "@svc/auth/RateLimits"
import { RateLimitsRepo } from "@svc/auth/RateLimitsRepo"
import { TierLimits } from "@svc/auth/TierLimits"
import { NodeLease } from "@svc/cluster/NodeLease"
import { healthy } from "@svc/providers/Health"
import { Providers } from "@svc/providers/Providers"
import type { Route } from "@svc/providers/Route"
import { ConfigProvider, Context, Deferred, Effect, Layer, Schema, Stream } from "effect"
import { ClientAddress } from "../../src/http/access/ClientAddress.ts"
import { Credits } from "../../src/http/access/Credits.ts"
import { Security } from "../../src/http/access/Security.ts"
import { documentRoutes } from "../../src/http/documents/DocumentRoutes.ts"
import { GuideRoutes } from "../../src/http/guides/GuideRoutes.ts"
import { HealthRoutes } from "../../src/http/health/HealthRoutes.ts"
import { Readiness } from "../../src/http/health/Readiness.ts"
import { HttpServer, layerOf } from "../../src/http/listening/HttpServer.ts"
import { PluginRoutes } from "../../src/http/plugins/PluginRoutes.ts"
import { PluginSockets } from "../../src/http/plugins/PluginSockets.ts"

/** A small contract with handlers that fail in every way. */

export class Teapot extends define("Teapot", "TEAPOT", 418, "short and stout") {}

const Body = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1, { message: () => "name is required." })),
  size: Schema.optional(Schema.Int),
  tags: Schema.optional(Schema.Array(Schema.String))
}).annotations({ identifier: "InternalNameOfBody" })

const Item = Schema.Struct({ item: Schema.String })

export const TinyApi = HttpApi.make("tiny").add(
  HttpApiGroup.make("tiny")
    .add(
      HttpApiEndpoint.get("item", "/v1/items/:itemId")
        .setPath(Schema.Struct({ itemId: Schema.String }))
        .addSuccess(Item)
    )
    .add(
      HttpApiEndpoint.get("list", "/v1/items")
        .setUrlParams(Schema.Struct({ limit: Schema.optional(Limit(100)), name: Schema.optional(Schema.String) }))
        .addSuccess(Schema.Struct({ query: Schema.Unknown }))
    )
    .add(
      HttpApiEndpoint.post("create", "/v1/items")
        .setPayload(Body)
        .addSuccess(Schema.Struct({ got: Body }), { status: 201 })
    )
    .add(HttpApiEndpoint.del("remove", "/v1/items/:itemId").setPath(Schema.Struct({ itemId: Schema.String })))
    .add(HttpApiEndpoint.get("teapot", "/v1/teapot").addSuccess(Item).addError(Teapot.wire))
    .add(HttpApiEndpoint.get("dies", "/v1/dies").addSuccess(Item))
    .add(HttpApiEndpoint.get("throws", "/v1/throws").addSuccess(Item))
    .add(HttpApiEndpoint.get("hangs", "/v1/hangs").addSuccess(Item))
    .add(HttpApiEndpoint.post("slow", "/v1/slow").addSuccess(Item))
    .add(HttpApiEndpoint.get("lies", "/v1/lies").addSuccess(Item))
    .add(HttpApiEndpoint.get("circular", "/v1/circular").addSuccess(Item))
    .add(HttpApiEndpoint.get("org", "/v1/org").addSuccess(Item).annotate(AccessRule, AccessRule.orgOnly))
    .add(
      HttpApiEndpoint.get("whoami", "/v1/whoami")
        .addSuccess(Schema.Struct({ project: Schema.NullOr(Schema.Int) }))
        .annotate(AccessRule, AccessRule.projectOptional)
    )
)

/** What tests wait for and let go on. */
export interface Signals {
  /** The handler of `hangs` or `slow` has begun. */
  readonly begun: Deferred.Deferred<void>
  /** `hangs` was interrupted. */
  readonly interrupted: Deferred.Deferred<void>
  /** Lets `slow` finish. */
  readonly go: Deferred.Deferred<void>
  /** `slow` was carried through. */
  readonly finished: Deferred.Deferred<void>
}

export const signals: Effect.Effect<Signals> = Effect.all({
  begun: Deferred.make<void>(),
  interrupted: Deferred.make<void>(),
  go: Deferred.make<void>(),
  finished: Deferred.make<void>()
})

const circular: Record<string, unknown> = {}
circular["self"] = circular

export const handlersOf = (s: Signals): RegisteredGroup => ({
  group: "tiny",
  handlers: {
    item: ({ path }: { path: { itemId: string } }) => Effect.succeed({ item: path.itemId }),
    list: ({ urlParams }: { urlParams: unknown }) => Effect.succeed({ query: urlParams }),
    create: ({ payload }: { payload: unknown }) => Effect.succeed({ got: payload }),
    remove: () => Effect.void,
    teapot: () => Effect.fail(new Teapot()),
    dies: () => Effect.die(new Error("select password from secrets")),
    throws: () => {
      throw new Error("select password from secrets")
    },
    hangs: () =>
      Deferred.succeed(s.begun, undefined).pipe(
        Effect.zipRight(Effect.never),
        Effect.onInterrupt(() => Deferred.succeed(s.interrupted, undefined))
      ),
    slow: () =>
      Deferred.succeed(s.begun, undefined).pipe(
        Effect.zipRight(Deferred.await(s.go)),
        Effect.tap(() => Deferred.succeed(s.finished, undefined)),
        Effect.as({ item: "slow" })
      ),
    lies: () => Effect.succeed({ item: 5, password: "x" }),
    circular: () => Effect.succeed(circular),
    org: () => Effect.succeed({ item: "org" }),
    whoami: () => Effect.map(CurrentPrincipal, ({ project }) => ({ project: project?.id ?? null }))
  }
})

const decodeId = {
  org: Schema.decodeSync(OrgId),
  project: Schema.decodeSync(ProjectId)
}
const org = { id: 1, public_id: decodeId.org(`org_${"a".repeat(24)}`), tier: "enterprise" } as const
/** An organization of the tier PAYG with nothing left. */
const poor = { id: 2, public_id: decodeId.org(`org_${"b".repeat(24)}`), tier: "payg" } as const
export const project = { id: 7, public_id: decodeId.project(`proj_${"p".repeat(24)}`) }
const principals: { readonly [key: string]: Principal } = {
  full: { kind: "project", key_id: 1, scope: "full", org, project },
  read: { kind: "project", key_id: 2, scope: "read", org, project },
  org: { kind: "org", key_id: 3, scope: "full", org, project: null },
  poor: { kind: "project", key_id: 4, scope: "full", org: poor, project },
  poorRead: { kind: "project", key_id: 5, scope: "read", org: poor, project },
  poorOrg: { kind: "org", key_id: 6, scope: "full", org: poor, project: null }
}

/**
 * Keys `full`, `read` and `org` of an enterprise, `poor`, `poorRead` and `poorOrg` of an organization without credits;
 * each has the one project.
 */
const KeysInMemory = Layer.succeed(Keys, {
  authenticate: (raw) => {
    const principal = principals[raw]
    return principal === undefined ? Effect.fail(new InvalidApiKey()) : Effect.succeed(principal)
  },
  authenticateWorkspace: () => Effect.die("not used"),
  projectOf: (_, id) =>
    id === "7" || id === project.public_id ? Effect.succeed(project) : Effect.fail(new ProjectNotFound()),
  issue: () => Effect.die("not used"),
  revoke: () => Effect.die("not used"),
  revokeBy: () => Effect.die("not used"),
  clearCache: Effect.void
})

/** What the security layer stands on, without a database. There is no other node. */
const SecurityInMemory = Security.layer.pipe(
  Layer.provide(Layer.mergeAll(AuthFailures.layer, RateLimits.layer, TierLimits.layer)),
  Layer.provide(
    Layer.mergeAll(
      KeysInMemory,
      Layer.succeed(AuthFailuresRepo, {
        write: () => Effect.void,
        ofOthers: () => Effect.succeed([]),
        removeBefore: () => Effect.void
      }),
      Layer.succeed(RateLimitsRepo, { exchange: () => Effect.succeed([]), removeBefore: () => Effect.void }),
      Layer.mock(NodeLease, { others: Effect.succeed(0) }),
      Layer.succeed(Credits, { mayWrite: (id) => Effect.succeed(id !== poor.id) })
    )
  )
)

const providersWith = (routes: ReadonlyArray<Route>) =>
  Layer.succeed(Providers, {
    plugins: [],
    telephony: [
      {
        id: "tin",
        capabilities: {
          formats: [],
          dtmfIn: false,
          dtmfOut: false,
          transfer: "none",
          earlyMedia: false,
          playbackMarks: "exact"
        },
        incoming: Stream.never,
        health: Effect.succeed(healthy),
        routes
      }
    ],
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    objectStore: undefined,
    embedding: undefined
  })

export interface TinyOptions {
  readonly signals?: Signals
  readonly groups?: ReadonlyArray<RegisteredGroup>
  readonly routes?: ReadonlyArray<Route>
  readonly strict?: boolean
  readonly api?: HttpApi.HttpApi.Any
  /** Registers routes beside those of the contract. */
  readonly plain?: Layer.Layer<never, never, RouteRegistry>
  readonly readiness?: Context.Tag.Service<Readiness>
  readonly settings?: { readonly [variable: string]: string }
}

/** The layer of a server on a free port with everything around it in memory. */
export const tinyLayer = (options: TinyOptions = {}) =>
  Layer.unwrapEffect(
    Effect.map(signals, (own) => {
      const groups = options.groups ?? [handlersOf(options.signals ?? own)]
      const api = options.api ?? TinyApi
      return layerOf(api).pipe(
        Layer.provide(SecurityInMemory),
        Layer.provide(
          Layer.mergeAll(HealthRoutes, documentRoutes(api), GuideRoutes, PluginRoutes, options.plain ?? Layer.empty)
        ),
        Layer.provide(RouteRegistry.layer),
        Layer.provide(ClientAddress.layer),
        Layer.provide(
          Layer.succeed(HandlerRegistry, {
            add: () => Effect.void,
            all: Effect.succeed(groups),
            workspace: { add: () => Effect.void, all: Effect.succeed([]) }
          })
        ),
        Layer.provide(Layer.succeed(Readiness, options.readiness ?? { check: Effect.succeed([]) })),
        Layer.provide(providersWith(options.routes ?? [])),
        Layer.provideMerge(PluginSockets.layer),
        Layer.provide(
          Layer.setConfigProvider(
            ConfigProvider.fromMap(
              new Map([
                ["SVC_PORT", "0"],
                ["SVC_STRICT_RESPONSES", String(options.strict ?? false)],
                ...Object.entries(options.settings ?? {})
              ])
            )
          )
        )
      )
    })
  )

/** Starts the server for the rest of the scope. */
export const startTiny = (options: TinyOptions = {}) =>
  Effect.map(Layer.build(tinyLayer(options)), (context) => ({
    port: Context.get(context, HttpServer).port,
    sockets: Context.get(context, PluginSockets)
  }))
