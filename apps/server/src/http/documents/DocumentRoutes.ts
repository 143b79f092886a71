import { createHash } from "node:crypto"
import type { HttpApi } from "@effect/platform"
import { matchesEntityTag } from "@svc/api/EntityTag"
import {
  type PlainRequest,
  type PlainResponse,
  type PlainRoute,
  plainRoutes,
  type RouteRegistry
} from "@svc/api/PlainRoutes"
import { workspacePath } from "@svc/api/Workspace"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { type ConfigError, Effect, type Layer } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { httpSettings } from "../listening/HttpSettings.ts"
import type { Contract } from "./Contract.ts"
import type { Conventions } from "./Conventions.ts"
import { describe } from "./Description.ts"
import { type Link, render } from "./Page.ts"
import { policy } from "./PageStyle.ts"
import { voice } from "./VoiceConventions.ts"
import { workspace } from "./WorkspaceConventions.ts"

/** A finished document: its bytes and its entity tag. */
interface Document {
  readonly bytes: Uint8Array
  readonly etag: string
}

const finish = (text: string): Document => {
  const bytes = Buffer.from(text)
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"` }
}

const responseOf = (
  { bytes, etag }: Document,
  headers: ResponseHeaders,
  ifNoneMatch: string | undefined
): PlainResponse => {
  const cached = { ...headers, ETag: etag, "Cache-Control": "no-cache" }
  return matchesEntityTag(ifNoneMatch, etag)
    ? { status: 304, headers: cached }
    : { status: 200, headers: cached, body: bytes }
}

const json: ResponseHeaders = { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" }
const page: ResponseHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer"
}

const fromVoice: ReadonlyArray<Link> = [
  ["openapi.json", "openapi.json"],
  ["Workspace API", "docs/workspace"]
]
const fromWorkspace: ReadonlyArray<Link> = [
  ["openapi.workspace.json", "../openapi.workspace.json"],
  ["Voice API", "../docs"]
]

/**
 * `GET /openapi.json` and `GET /openapi.workspace.json`, the OpenAPI documents of the voice and the workspace API, and
 * `GET /docs` and `GET /docs/workspace`, pages to read them on that load nothing from anywhere. They need no key. `api`
 * is the voice API.
 */
export const documentRoutes = (api: HttpApi.HttpApi.Any): Layer.Layer<never, ConfigError.ConfigError, RouteRegistry> =>
  plainRoutes(makeRoutes(api))

const makeRoutes = (api: HttpApi.HttpApi.Any): Effect.Effect<ReadonlyArray<PlainRoute>, ConfigError.ConfigError> =>
  Effect.gen(function* () {
    const { baseUrl: url } = yield* httpSettings
    const contractOf = (of: HttpApi.HttpApi.Any, address: string, conventions: Conventions) =>
      Effect.cached(Effect.sync(() => describe(of, address, conventions)))
    const serve = (
      path: string,
      contract: Effect.Effect<Contract>,
      text: (contract: Contract) => string,
      headers: ResponseHeaders
    ) =>
      Effect.map(Effect.cached(Effect.map(contract, (made) => finish(text(made)))), (document) => ({
        method: "GET",
        path,
        handle: (request: PlainRequest) =>
          Effect.map(document, (made) => responseOf(made, headers, request.headers["if-none-match"]))
      }))
    const ofVoice = yield* contractOf(api, url ?? "/", voice)
    const ofWorkspace = yield* contractOf(WorkspaceApi, `${url ?? ""}${workspacePath}`, workspace)
    return [
      yield* serve("/openapi.json", ofVoice, JSON.stringify, json),
      yield* serve("/openapi.workspace.json", ofWorkspace, JSON.stringify, json),
      yield* serve("/docs", ofVoice, (contract) => render(contract, fromVoice), page),
      yield* serve("/docs/workspace", ofWorkspace, (contract) => render(contract, fromWorkspace), page)
    ]
  })
