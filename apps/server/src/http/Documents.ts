import { createHash } from "node:crypto"
import type { HttpApi } from "@effect/platform"
import { workspacePath } from "@svc/api/Workspace"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { Effect } from "effect"
import { answerFailure, type RunRequest, type Serve, type ServedRoute } from "./Dispatcher.ts"
import type { Contract } from "./DocumentsContract.ts"
import type { Conventions } from "./DocumentsConventions.ts"
import { describe } from "./DocumentsDescription.ts"
import { policy } from "./DocumentsLook.ts"
import { type Link, render } from "./DocumentsPage.ts"
import { voice } from "./DocumentsVoice.ts"
import { workspace } from "./DocumentsWorkspace.ts"
import type { Exchange } from "./Exchange.ts"
import { type ResponseHeaders, send } from "./Responses.ts"

/** A finished document: its bytes, and what a cache knows it by. */
interface Document {
  readonly bytes: Uint8Array
  readonly etag: string
}

const finish = (text: string): Document => {
  const bytes = Buffer.from(text)
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"` }
}

/** Whether the client has this very document already. */
const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag)

/** Serves a document. */
const serveDocument = (
  what: string,
  document: Effect.Effect<Document>,
  headers: ResponseHeaders,
  run: RunRequest
): Serve => {
  const answer = (exchange: Exchange, { bytes, etag }: Document): void => {
    const known = isKnown(exchange.request.headers["if-none-match"], etag)
    const cached = { ...headers, ETag: etag, "Cache-Control": "no-cache" }
    send(exchange, known ? 304 : 200, cached, known ? undefined : bytes)
  }
  return (exchange) => {
    run(document).addObserver((exit) => {
      if (exit._tag === "Success") answer(exchange, exit.value)
      else answerFailure(exchange, what, exit.cause, run)
    })
  }
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
 * `GET /docs` and `GET /docs/workspace`, pages to read them on that load nothing from anywhere (decisions §2.10). They need no key. `api`
 * is the voice API; `url` is the address of the server for its clients.
 */
export const documentRoutes = (
  api: HttpApi.HttpApi.Any,
  url: string | undefined,
  run: RunRequest
): Effect.Effect<ReadonlyArray<ServedRoute>> =>
  Effect.gen(function* () {
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
        serve: serveDocument(path, document, headers, run)
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
