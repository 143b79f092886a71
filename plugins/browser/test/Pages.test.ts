import { readdirSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import type { RouteResponse } from "@svc/providers/Route"
import { Telephony } from "@svc/providers/Telephony"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, Layer, Schema } from "effect"
import browser from "../src/Browser.ts"
import * as BrowserTelephony from "../src/BrowserTelephony.ts"
import { openLink, routeRequest } from "./TestPage.ts"

/** The plugin, and the response of its HTTP route for a path. */
const served = (options: { readonly baseUrl?: string; readonly origins?: ReadonlyArray<string> } = {}) =>
  Effect.gen(function* () {
    const double = yield* makeHostDouble(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl })
    openLink(double)
    const context = yield* Layer.build(BrowserTelephony.layer({ host: double.host, origins: options.origins ?? [] }))
    const { routes } = yield* Effect.provide(Telephony, context)
    const get = (path: string): Effect.Effect<RouteResponse> => {
      const literal = routes.find((route) => route.path === path)
      const route = literal ?? routes.find((route) => route.path === "/:token")
      if (route?._tag !== "Http") throw new Error(`no route for ${path}`)
      return route.handle(routeRequest({ token: path.slice(1) }))
    }
    return { double, get, routes }
  })

const link = `/${"l".repeat(32)}`
const bodyOf = ({ body }: RouteResponse) => String(body)

describe("The page of a call link", () => {
  it.scoped("is shown while a call can start, else a page says why not", () =>
    Effect.gen(function* () {
      const { double, get } = yield* served()
      expect(yield* get(link)).toMatchObject({ status: 200 })
      const closed = yield* get("/altered")
      expect(closed.status).toBe(404)
      expect(bodyOf(closed)).toContain("Ask whoever gave it to you for a new one")
      double.links.set(link.slice(1), "unknown")
      const unknown = yield* get(link)
      expect(unknown).toMatchObject({ status: 503, headers: { "Retry-After": "60" } })
      expect(bodyOf(unknown)).toContain("Load this page again in a minute")
    })
  )

  it.scoped("runs no inline code, loads nothing from elsewhere, and is in frames of allowed origins only", () =>
    Effect.gen(function* () {
      const { get } = yield* served({ origins: ["https://www.example.com", "https://shop.example.com"] })
      for (const page of [yield* get(link), yield* get("/altered")]) {
        const policy = page.headers?.["Content-Security-Policy"]
        expect(policy).toBe(
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self' https://www.example.com https://shop.example.com"
        )
        expect(page.headers).toMatchObject({
          "Cache-Control": "no-store",
          "Referrer-Policy": "no-referrer",
          "X-Content-Type-Options": "nosniff"
        })
        expect(bodyOf(page)).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|https?:|{{/)
      }
    })
  )

  it.scoped("names only files that are served, which are all files of the folder but the pages", () =>
    Effect.gen(function* () {
      const { get, routes } = yield* served({ baseUrl: "https://voice.example.com/below" })
      const html = bodyOf(yield* get(link))
      const named = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address = ""]) => address)
      expect(named).toHaveLength(3)
      for (const address of named) {
        const [, path] = address.split("/below/telephony/browser")
        expect(yield* get(path ?? "")).toMatchObject({ status: 200 })
      }
      const assets = routes.flatMap(({ path }) => (path.startsWith("/assets/") ? [path.split("/")[3]] : []))
      const files = readdirSync(new URL("../page/", import.meta.url)).filter((name) => /\.(js|css|svg)$/.test(name))
      expect([...assets, "svc-call.js"].sort()).toEqual(files.sort())
      // Imports of the scripts are relative, so they meet the same version.
      for (const path of assets) {
        const script = routes.find((route) => route.path.endsWith(`/${path}`))
        if (script?._tag !== "Http") continue
        const text = bodyOf(yield* script.handle(routeRequest({})))
        for (const [, imported] of text.matchAll(/^import .* from "([^"]+)"/gm)) {
          expect(assets).toContain(imported?.replace("./", ""))
        }
      }
    })
  )
})

describe("SVC_BROWSER_ORIGINS", () => {
  it("takes origins only", () => {
    const accepts = (origins: string) => Schema.is(browser.config)({ origins })
    expect(accepts("https://www.example.com,http://localhost:3000")).toBe(true)
    for (const wrong of ["", "*", "www.example.com", "https://www.example.com/", "https://a.example.com/path"]) {
      expect([wrong, accepts(wrong)]).toEqual([wrong, false])
    }
  })
})
