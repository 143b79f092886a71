import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { ConfigProvider, Effect, Layer } from "effect"
import { PageFetcher } from "../../src/refresh/PageFetcher.ts"
import { PageReader } from "../../src/refresh/PageReader.ts"
import { SourceReader } from "../../src/refresh/SourceReader.ts"

/** What a site answers to a path: HTML, or a response written by hand. */
export type Page =
  | string
  | { readonly type?: string; readonly status?: number; readonly headers?: object; readonly body?: string | Uint8Array }
  | ((response: http.ServerResponse) => void)

/** A web site on loopback. Pages may change; what it does not have is a 404. */
export class Site {
  readonly pages = new Map<string, Page>()
  /** The paths of all requests, but those of robots.txt. */
  readonly requests: Array<string> = []
  readonly url: string

  constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`
  }

  answer(path: string, response: http.ServerResponse): void {
    if (path !== "/robots.txt") this.requests.push(path)
    const page = this.pages.get(path)
    if (typeof page === "function") {
      page(response)
      return
    }
    if (page === undefined) {
      response.writeHead(404, { "content-type": "text/html" }).end("<p>Not found</p>")
      return
    }
    const {
      body = "",
      headers = {},
      status = 200,
      type = "text/html"
    } = typeof page === "string" ? { body: page } : page
    response.writeHead(status, { "content-type": type, ...headers }).end(body)
  }

  /** A sitemap of these paths at `/sitemap.xml`. */
  list(paths: ReadonlyArray<string>): string {
    const urls = paths.map((path) => `<url><loc>${path.startsWith("http") ? path : this.url + path}</loc></url>`)
    const body = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join("")}</urlset>`
    this.pages.set("/sitemap.xml", { type: "application/xml", body })
    return `${this.url}/sitemap.xml`
  }
}

/** Starts a site; the scope stops it, with its connections. */
export const site = Effect.acquireRelease(
  Effect.async<{ readonly server: http.Server; readonly site: Site }>((resume) => {
    let made: Site | undefined
    const server = http.createServer((request, response) => made?.answer(request.url ?? "", response))
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      made = new Site(port)
      resume(Effect.succeed({ server, site: made }))
    })
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
).pipe(Effect.map(({ site }) => site))

const readingWith = (settings: ReadonlyArray<readonly [string, string]>) =>
  SourceReader.layer.pipe(
    Layer.provideMerge(Layer.merge(PageFetcher.layer, PageReader.layer)),
    Layer.provide(UrlSafety.layer),
    Layer.provide(Resolver.layer),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(settings))))
  )
/** Reads sources for real; private addresses are allowed, those of cloud metadata are not. */
export const Reading = readingWith([["SVC_ALLOW_PRIVATE_URLS", "true"]])
/** The same without private addresses, as in production. */
export const Strict = readingWith([])

export const html = (body: string, title = "Shop"): string =>
  `<!doctype html><html><head><title>${title}</title></head><body>${body}</body></html>`
