import { createHash } from "node:crypto"
import { describe, expect, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { readDocumentation } from "../../../src/http/guides/Guides.ts"
import { render } from "../../../src/http/guides/Markdown.ts"
import { HttpServer } from "../../../src/http/listening/HttpServer.ts"
import { ask } from "../../servers/Client.ts"
import { tinyLayer } from "../../servers/TinyServer.ts"

class Port extends Context.Tag("test/Port")<Port, number>() {}
const server = Layer.effect(
  Port,
  Effect.map(HttpServer, ({ port }) => port)
).pipe(Layer.provide(tinyLayer()))

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }

/** The addresses that a page links to or shows. */
const linksIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link ?? "")

layer(server)("the pages of a server", (it) => {
  it.effect("start with one that links both references, the guides and the state, for browsers only", () =>
    Effect.gen(function* () {
      const port = yield* Port
      const page = yield* ask(port, { path: "/", headers: browser })
      expect(page).toMatchObject({ status: 200 })
      expect(page.headers["content-type"]).toBe("text/html; charset=utf-8")
      expect(page.headers.vary).toBe("Accept, Accept-Encoding")
      expect(linksIn(page.text)).toEqual(
        expect.arrayContaining(["/docs", "/docs/workspace", "/guides/calls", "/readyz", "/healthz", "/openapi.json"])
      )
      expect(page.text).toContain("debug-link")
      for (const accept of ["*/*", "application/json", undefined]) {
        const { status, text } = yield* ask(port, { path: "/", headers: accept === undefined ? {} : { accept } })
        expect([accept, status, JSON.parse(text).code]).toEqual([accept, 404, "ROUTE_NOT_FOUND"])
      }
    })
  )

  it.effect("lead to pages and anchors that exist", () =>
    Effect.gen(function* () {
      const port = yield* Port
      const { guides, pictures } = readDocumentation()
      expect(guides.length).toBeGreaterThan(40)
      const paths = ["/", ...guides.map(({ path }) => path)]
      const texts = yield* Effect.forEach(paths, (path) =>
        Effect.map(ask(port, { path, headers: browser }), ({ status, text }) => {
          expect([path, status]).toEqual([path, 200])
          return [path, text] as const
        })
      )
      const anchors = new Map(
        texts.map(([path, text]) => [path, [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)])
      )
      const others = new Set([
        "/docs",
        "/docs/workspace",
        "/openapi.json",
        "/openapi.workspace.json",
        "/readyz",
        "/healthz"
      ])
      for (const { path } of pictures) others.add(path)
      const broken = texts.flatMap(([path, text]) =>
        linksIn(text)
          .filter((link) => !/^(https?:|mailto:|data:,$)/.test(link))
          .filter((link) => {
            const { hash, pathname } = new URL(link, `http://server${path}`)
            const found = anchors.get(pathname)
            return found === undefined ? !others.has(pathname) : hash !== "" && !found.includes(hash.slice(1))
          })
          .map((link) => `${path}: ${link}`)
      )
      expect(broken).toEqual([])
      for (const path of others) expect([path, (yield* ask(port, { path })).status]).toEqual([path, 200])
    })
  )

  it.effect("have no scripts, and only the style that their policy names", () =>
    Effect.gen(function* () {
      const port = yield* Port
      for (const path of ["/", "/guides/architecture", "/guides/providers"]) {
        const { headers, text } = yield* ask(port, { path, headers: browser })
        const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? ""
        const hash = createHash("sha256").update(style).digest("base64")
        expect(headers["content-security-policy"]).toContain(`default-src 'none'; style-src 'sha256-${hash}'; img-src`)
        expect(text).not.toMatch(/<script| style=/)
      }
    })
  )
})

describe("a guide", () => {
  const made = (text: string) => render(text, (href) => (href === "gone.md" ? undefined : `/at/${href}`))

  it("has the anchors that GitHub makes", () => {
    const { anchors, title } = made("# The `svc` command\n\n## What you do: all, of it!\n\n## Errors\n\n## Errors\n")
    expect(title).toBe("The svc command")
    expect([...anchors]).toEqual(["the-svc-command", "what-you-do-all-of-it", "errors", "errors-1"])
  })

  it("aligns the columns of tables by classes, because the policy allows no styles of elements", () => {
    const { html } = made("| a | b | c | d |\n| - | -: | :-: | :- |\n| 1 | 2 | 3 | 4 |\n")
    expect(html).not.toContain("style")
    expect(html).toContain('<th>a</th>\n<th class="right">b</th>\n<th class="center">c</th>\n<th>d</th>')
    expect(html).toContain('<td>1</td>\n<td class="right">2</td>\n<td class="center">3</td>\n<td>4</td>')
  })

  it("escapes HTML and leaves out links with scripts and links to what is not served", () => {
    const { html } = made(
      `<script>x</script> <b onclick="y">b</b> [a](javascript:alert) [gone *file*](gone.md) [b](b.md)`
    )
    expect(html).not.toMatch(/<script|<b /)
    expect(html).not.toContain('href="javascript')
    expect(html).toContain("gone <em>file</em> ")
    expect(html.match(/<a /g)).toHaveLength(1)
    expect(html).toContain('<a href="/at/b.md">b</a>')
  })
})
