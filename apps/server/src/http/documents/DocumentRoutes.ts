import type { HttpApi } from "@effect/platform"
import { type PlainRoute, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { workspacePath } from "@svc/api/Workspace"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { type ConfigError, Effect, type Layer } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { httpSettings } from "../listening/HttpSettings.ts"
import type { Conventions } from "./Conventions.ts"
import { describe } from "./Description.ts"
import * as Document from "./Document.ts"
import { policyOf, type Reference, render } from "./ReferencePage.ts"
import { readScript, release } from "./Scalar.ts"
import { voice } from "./VoiceConventions.ts"
import { workspace } from "./WorkspaceConventions.ts"

const json: ResponseHeaders = { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" }
const security: ResponseHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" }

/** The script of the reference pages; their link has its hash, so that a browser keeps it. */
const scriptPath = "/docs/scalar.js"
const script = `${scriptPath}?v=${release.sha256.slice(0, 16)}`

/** A contract that has a document at a path. */
interface Documented {
  readonly path: string
  readonly api: HttpApi.HttpApi.Any
  /** The URL of the API. */
  readonly address: string
  readonly conventions: Conventions
}

const documented = (api: HttpApi.HttpApi.Any, url: string | undefined): ReadonlyArray<Documented> => [
  { path: "/openapi.json", api, address: url ?? "/", conventions: voice },
  {
    path: "/openapi.workspace.json",
    api: WorkspaceApi,
    address: `${url ?? ""}${workspacePath}`,
    conventions: workspace
  }
]

/** OpenAPI documents that were made, with their addresses. */
const texts = new WeakMap<HttpApi.HttpApi.Any, { readonly address: string; readonly text: string }>()

/** An OpenAPI document. Making it takes the thread of the calls up to a tenth of a second, so it is kept. */
const textOf = ({ address, api, conventions }: Documented): string => {
  const known = texts.get(api)
  if (known?.address === address) return known.text
  const text = JSON.stringify(describe(api, address, conventions))
  texts.set(api, { address, text })
  return text
}

/** Makes the OpenAPI documents: before the server takes calls, which would wait. `api` is the voice API. */
export const prepareDocuments = (api: HttpApi.HttpApi.Any): Effect.Effect<void, ConfigError.ConfigError> =>
  Effect.map(httpSettings, ({ baseUrl }) => documented(api, baseUrl).forEach(textOf))

/**
 * `GET /openapi.json` and `GET /openapi.workspace.json`, the OpenAPI documents of the voice and the workspace API, and
 * `GET /docs` and `GET /docs/workspace`, pages to read them on that load nothing from other hosts. They need no key. `api`
 * is the voice API.
 */
export const documentRoutes = (api: HttpApi.HttpApi.Any): Layer.Layer<never, ConfigError.ConfigError, RouteRegistry> =>
  plainRoutes(makeRoutes(api))

const makeRoutes = (api: HttpApi.HttpApi.Any): Effect.Effect<ReadonlyArray<PlainRoute>, ConfigError.ConfigError> =>
  Effect.gen(function* () {
    const { baseUrl: url } = yield* httpSettings
    /** A route whose document is made once, when it is first asked for. */
    const route = (path: string, document: Effect.Effect<Document.Document>, headers: ResponseHeaders) =>
      Effect.map(
        Effect.cached(document),
        (cached): PlainRoute => ({
          method: "GET",
          path,
          handle: (request) => Effect.map(cached, (made) => Document.serve(made, headers, request))
        })
      )
    const contract = (one: Documented) =>
      route(
        one.path,
        Effect.suspend(() => Document.finish(textOf(one))),
        json
      )
    const reference = (path: string, shown: Reference) =>
      route(
        path,
        Effect.suspend(() => Document.finish(render(shown))),
        { ...security, "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policyOf(shown) }
      )
    return [
      ...(yield* Effect.forEach(documented(api, url), contract)),
      yield* reference("/docs", { title: "Svc voice API", document: "/openapi.json", base: "/", script }),
      yield* reference("/docs/workspace", {
        title: "Svc workspace API",
        document: "/openapi.workspace.json",
        base: workspacePath,
        script
      }),
      yield* route(
        scriptPath,
        Effect.suspend(() => Document.unzip(readScript())),
        {
          ...security,
          "Content-Type": "text/javascript; charset=utf-8",
          "Cache-Control": "public, max-age=31536000, immutable"
        }
      )
    ]
  })
