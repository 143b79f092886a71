import { type PlainRoute, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { RouteNotFound } from "@svc/api/VoiceError"
import { Effect, type Layer } from "effect"
import * as Document from "../documents/Document.ts"
import { type Link, linkList, page, policy } from "../documents/PageLayout.ts"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { type Guide, readDocumentation } from "./Guides.ts"

const common: ResponseHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" }
const headers: ResponseHeaders = {
  ...common,
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": policy
}

/** A picture has its own style and loads nothing. */
const pictureHeaders: ResponseHeaders = {
  ...common,
  "Content-Type": "image/svg+xml",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"
}

/** The groups of pages in lists, by their folder; the first is for people who use the server. */
const groups: ReadonlyArray<readonly [heading: string, has: (source: string) => boolean]> = [
  ["Guides", (source) => /^docs\/(?!architecture|style|testing|glossary)[\w-]+\.md$|^README|^plugins\//.test(source)],
  ["Reference", (source) => source.startsWith("docs/reference/")],
  [
    "For people who change the code",
    (source) => /^docs\/(architecture|style|testing|glossary|decisions\/README)\.md$|^[BCS]/.test(source)
  ]
]

const lists = (guides: ReadonlyArray<Guide>, current: string): string =>
  groups
    .map(([heading, has]) => {
      const links = guides.filter(({ source }) => has(source)).map(({ path, title }): Link => [title, path])
      return links.length === 0 ? "" : linkList(heading, links, current)
    })
    .join("")

const startPage = (guides: ReadonlyArray<Guide>): string =>
  page(
    "Svc",
    `<h1>Svc</h1><p>AI voice agents that answer phone calls. This server is running.${
      guides.length === 0
        ? ""
        : ` Start with <a href="/guides/README">the overview</a> or with <a href="/guides/calls">a call</a>.`
    }</p>
<h2 id="apis">APIs</h2><ul>
<li><a href="/docs">Voice API</a>: agents, calls, numbers, messages, webhooks. Read it and try its requests with your key.
<a href="/openapi.json">openapi.json</a></li>
<li><a href="/docs/workspace">Workspace API</a>: booking customers. <a href="/openapi.workspace.json">openapi.workspace.json</a></li></ul>
<h2 id="state">State of this server</h2><ul>
<li><a href="/readyz">Readiness</a> names the database and each plugin that does not work, and why. <a href="/healthz">Liveness</a>
says that the process is up.</li>
<li>Every call has a page with its transcript, timing, requests and deliveries, live while it runs:
<code>GET /v1/calls/&lt;call_id&gt;/debug-link</code> makes a link to it.</li></ul>
<div id="guides">${guides.length === 0 ? "<p>The guides are in the folder <code>docs</code> of the repository; it was not installed with this server.</p>" : lists(guides, "/")}</div>`
  )

/** Whether a client asks for HTML by name, as browsers do; `*\/*` does not. */
const isBrowser = (accept: string | undefined): boolean => /\btext\/html\b/i.test(accept ?? "")

const guideRoute = (guide: Guide, all: ReadonlyArray<Guide>): Effect.Effect<PlainRoute> =>
  Effect.map(
    Effect.cached(
      Effect.suspend(() => {
        const { html: body, title } = guide.render()
        return Document.finish(page(`${title} – Svc`, body, lists(all, guide.path)))
      })
    ),
    (document) => ({
      method: "GET",
      path: guide.path,
      handle: (request) => Effect.map(document, (made) => Document.serve(made, headers, request))
    })
  )

/**
 * `GET /`, the page that a person opens first, for clients that ask for HTML; others get 404. And the documentation of
 * the repository as pages below `/guides`. They need no key and no scripts.
 */
export const GuideRoutes: Layer.Layer<never, never, RouteRegistry> = plainRoutes(
  Effect.gen(function* () {
    const { guides, pictures } = yield* Effect.sync(readDocumentation)
    const startDocument = yield* Effect.cached(Effect.suspend(() => Document.finish(startPage(guides))))
    const start: PlainRoute = {
      method: "GET",
      path: "/",
      handle: (request) =>
        isBrowser(request.headers["accept"])
          ? Effect.map(startDocument, (made) => {
              const response = Document.serve(made, headers, request)
              return { ...response, headers: { ...response.headers, Vary: "Accept, Accept-Encoding" } }
            })
          : Effect.fail(new RouteNotFound())
    }
    // Only the page is there: other methods are answered as before it existed, with 404 and not 405.
    const noOther = (["POST", "PUT", "PATCH", "DELETE"] as const).map(
      (method): PlainRoute => ({ method, path: "/", handle: () => Effect.fail(new RouteNotFound()) })
    )
    const images = yield* Effect.forEach(pictures, ({ path, read }) =>
      Effect.map(
        Effect.cached(Effect.suspend(() => Document.finish(read()))),
        (document): PlainRoute => ({
          method: "GET",
          path,
          handle: (request) => Effect.map(document, (made) => Document.serve(made, pictureHeaders, request))
        })
      )
    )
    return [start, ...noOther, ...(yield* Effect.forEach(guides, (guide) => guideRoute(guide, guides))), ...images]
  })
)
