import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import type { LinkState } from "@svc/providers/Host"
import { PluginError } from "@svc/providers/Plugin"
import type { Route, RouteResponse } from "@svc/providers/Route"
import { Effect } from "effect"

/** The folder `page` of the package: what it has is sent as it is. */
const folder = new URL("../page/", import.meta.url)

const types = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml"
} as const

/** The files that the page loads. */
const assetNames = [
  "Page.js",
  "Call.js",
  "CallAudio.js",
  "CallConnection.js",
  "CallView.js",
  "CaptureWorklet.js",
  "JitterBuffer.js",
  "PlaybackWorklet.js",
  "Resampler.js",
  "SoundGate.js",
  "Page.css",
  "Icon.svg"
] as const

const typeOf = (name: string): string => types[name.slice(name.lastIndexOf(".") + 1) as keyof typeof types]

const common = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "X-Robots-Tag": "noindex"
}

/** The responses of the page, and the routes of the files that it loads. */
export interface Pages {
  /** The page on which a call can start. */
  readonly call: RouteResponse
  /** Why none can. */
  readonly ofClosed: (state: Exclude<LinkState, "open">) => RouteResponse
  /** Too many calls of the link were refused. */
  readonly busy: RouteResponse
  readonly files: ReadonlyArray<Route>
}

const get = (path: string, response: RouteResponse): Route => ({
  _tag: "Http",
  method: "GET",
  path,
  handle: () => Effect.succeed(response)
})

/**
 * Reads the files. Their addresses contain a hash of their contents, so they may be kept; the page itself is not, because
 * its address is a secret. `origins`: whose pages may show ours in a frame.
 */
export const load = (options: {
  readonly baseUrl: string | null
  readonly origins: ReadonlyArray<string>
}): Effect.Effect<Pages, PluginError> =>
  Effect.gen(function* () {
    const read = (name: string) =>
      Effect.try({
        try: () => readFileSync(new URL(name, folder), "utf8"),
        catch: () =>
          new PluginError({ plugin: "browser", reason: `its file page/${name} is missing: install the package again` })
      })
    const assets = yield* Effect.forEach(assetNames, (name) => Effect.map(read(name), (text) => ({ name, text })))
    const element = yield* read("svc-call.js")
    const html = { call: yield* read("Call.html"), message: yield* read("Message.html") }
    const version = createHash("sha256")
      .update(assets.map(({ text }) => text).join("\u0000"))
      .digest("hex")
      .slice(0, 12)
    // The server may be behind a path of its public address.
    const path = options.baseUrl === null ? "" : new URL(options.baseUrl).pathname.replace(/\/$/, "")
    const filled = (text: string) => text.replaceAll("{{assets}}", `${path}/telephony/browser/assets/${version}`)

    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors 'self'${options.origins.map((origin) => ` ${origin}`).join("")}`
    ].join("; ")
    const headers = {
      ...common,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
      "Cache-Control": "no-store"
    }
    const message = (status: number, title: string, text: string, more: { readonly [name: string]: string } = {}) => ({
      status,
      headers: { ...headers, ...more },
      body: filled(html.message).replaceAll("{{title}}", title).replaceAll("{{text}}", text)
    })
    const closed = message(
      404,
      "This link does not work",
      "It has expired, was used as often as it may be, or is not complete. Ask whoever gave it to you for a new one."
    )
    const unknown = message(
      503,
      "The service is not available right now",
      "Your link may still work. Load this page again in a minute.",
      { "Retry-After": "60" }
    )
    return {
      call: { status: 200, headers, body: filled(html.call) },
      ofClosed: (state) => (state === "closed" ? closed : unknown),
      busy: message(429, "Too many calls were refused", "Wait a minute, then load this page again.", {
        "Retry-After": "60"
      }),
      files: [
        ...assets.map(({ name, text }) =>
          get(`/assets/${version}/${name}`, {
            status: 200,
            headers: {
              ...common,
              "Content-Type": typeOf(name),
              "Cache-Control": "public, max-age=31536000, immutable",
              "Cross-Origin-Resource-Policy": "same-origin"
            },
            body: text
          })
        ),
        get("/svc-call.js", {
          status: 200,
          headers: {
            ...common,
            "Content-Type": types.js,
            "Cache-Control": "public, max-age=300",
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Access-Control-Allow-Origin": "*"
          },
          body: element
        })
      ]
    }
  })
