import type { ServerResponse } from "node:http"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { expect, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { SourceReader } from "../../src/refresh/SourceReader.ts"
import { html, Reading, site } from "./Site.ts"

const read = (url: string) => Effect.flatMap(SourceReader, (reader) => reader.read(url, Effect.succeed(true)))
const reasonOf = (url: string) => Effect.map(Effect.flip(read(url)), ({ reason }) => reason)

const rules = "User-agent: *\nDisallow: /early\n"
/** The first megabyte ends after the slash of `Disallow: /late`. */
const large = `${`${rules}${"# comment\n".repeat(110_000)}`.slice(0, 1_000_000 - 12)}\nDisallow: /late\n# The end\n`
/** Random text, which stays over 1 MB when it is packed. */
const random = () => {
  let seed = 1
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed.toString(36)
  }
  return `${rules}${Array.from({ length: 350_000 }, () => `# ${next()}`).join("\n")}`
}

layer(Reading, { excludeTestServices: true })("large files", (it) => {
  it.scoped.each<readonly [string, object, string | Uint8Array]>([
    ["plain", {}, large],
    ["gzip", { "content-encoding": "gzip" }, gzipSync(large)],
    ["deflate", { "content-encoding": "deflate" }, deflateSync(large)],
    ["br", { "content-encoding": "br" }, brotliCompressSync(large)],
    ["gzip of more than 1 MB", { "content-encoding": "gzip" }, gzipSync(random())]
  ])("a robots.txt over 1 MB counts up to there: %s", ([, headers, body]) =>
    Effect.gen(function* () {
      const made = yield* site
      made.pages.set("/robots.txt", { type: "text/plain", headers, body })
      for (const path of ["/early", "/late"]) made.pages.set(path, html("<p>Text.</p>"))
      expect(yield* read(`${made.url}/late`)).toMatchObject({ passages: [{ text: "Text." }] })
      expect(yield* reasonOf(`${made.url}/early`)).toContain("the robots.txt of its host excludes SvcBot")
    })
  )

  it.scoped("a robots.txt without an end is read up to 1 MB, and its connection is closed", () =>
    Effect.gen(function* () {
      const made = yield* site
      let sent = 0
      made.pages.set("/robots.txt", (response) => {
        response.write(rules)
        const more = () => {
          sent++
          if (!response.destroyed) response.write("# comment\n".repeat(10_000), more)
        }
        more()
      })
      made.pages.set("/", html("<p>Text.</p>"))
      expect(yield* read(`${made.url}/`)).toMatchObject({ passages: [{ text: "Text." }] })
      expect(sent).toBeLessThan(1000)
    })
  )

  it.scoped("a page or sitemap whose Content-Length is over 1 MB is refused before its body comes", () =>
    Effect.gen(function* () {
      const made = yield* site
      for (const type of ["text/html", "application/xml"]) {
        made.pages.set("/", (response: ServerResponse) => {
          response.writeHead(200, { "content-type": type, "content-length": 5_000_000 }).write("<p>")
        })
        const [taken, reason] = yield* Effect.timed(reasonOf(`${made.url}/`))
        expect(reason).toBe(`${made.url}/ is larger than 1 MB`)
        expect(Duration.toSeconds(taken)).toBeLessThan(10)
      }
    })
  )
})
