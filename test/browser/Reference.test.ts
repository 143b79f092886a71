import { describe, expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Locator, Page } from "playwright-core"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as Browser from "../src/blackbox/Browser.ts"

const looks: ReadonlyArray<Browser.Look> = [
  { scheme: "light", width: 1280 },
  { scheme: "dark", width: 390 }
]

const waitFor = (page: Page, text: string | RegExp) => Effect.promise(() => page.getByText(text).first().waitFor())

describe("The pages of a server in a browser", () => {
  layer(BlackBox.layer, { excludeTestServices: true, timeout: "60 seconds" })("of a server", (it) => {
    it.scoped("are readable on wide and narrow screens, with nothing from other hosts", () =>
      Effect.gen(function* () {
        const server = yield* BlackBox
        const browser = yield* Browser.launch
        const shown: ReadonlyArray<readonly [path: string, text: string]> = [
          ["/", "State of this server"],
          ["/guides/calls", "Write the server"],
          ["/guides/README", "Two commands"],
          ["/guides/reference/administration", "SVC_BASE_URL"],
          ["/docs", "Create an agent"],
          ["/docs/workspace", "Create a booking customer"]
        ]
        for (const look of looks) {
          const grounds = new Set<string>()
          for (const [path, text] of shown) {
            const { faults, hosts, page } = yield* Browser.open(browser, server.url + path, look)
            if (path.startsWith("/docs")) yield* waitFor(page, "Download OpenAPI Document")
            else yield* waitFor(page, text)
            expect([path, look, yield* Browser.fits(page)]).toEqual([path, look, true])
            expect([path, faults]).toEqual([path, []])
            expect([path, [...hosts]]).toEqual([path, [new URL(server.url).host]])
            grounds.add(
              yield* Effect.promise(() =>
                page.evaluate<string>("getComputedStyle(document.querySelector('.bar')).backgroundColor")
              )
            )
          }
          expect(grounds.size).toBe(1)
        }
      })
    )

    it.scoped("let a reader try a request with a key that is not stored", () =>
      Effect.gen(function* () {
        const server = yield* BlackBox
        const look = { scheme: "light", width: 1280 } as const
        const { faults, hosts, page } = yield* Browser.open(yield* Browser.launch, `${server.url}/docs`, look)
        const key = Redacted.value(server.keys.org)
        yield* Effect.promise(() => page.getByPlaceholder("Token").first().fill(key))
        // The first operation is that of the organization.
        const click = (within: Page | Locator, name: RegExp) =>
          Effect.promise(() => within.getByRole("button", { name }).first().click())
        yield* click(page, /test request/i)
        yield* click(page.getByRole("dialog"), /^send/i)
        yield* waitFor(page, "200 OK")
        yield* Effect.promise(() => page.getByRole("dialog").getByText(`"enterprise"`).first().waitFor())
        expect(faults).toEqual([])
        expect([...hosts]).toEqual([new URL(server.url).host])
        const stored = yield* Effect.promise(() =>
          page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
        )
        expect(stored).not.toContain(key)
        expect(yield* Effect.promise(() => page.evaluate("indexedDB.databases().then((all) => all.length)"))).toBe(0)
      })
    )
  })
})
