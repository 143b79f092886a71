import { gzipSync } from "node:zlib"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SourceReader } from "../../src/refresh/SourceReader.ts"
import { html, Reading, type Site, site } from "./Site.ts"

const always = Effect.succeed(true)
const read = (url: string) => Effect.flatMap(SourceReader, (reader) => reader.read(url, always))
const textsOf = (url: string) => Effect.map(read(url), ({ passages }) => passages.map(({ text }) => text))
const reasonOf = (url: string) => Effect.map(Effect.flip(read(url)), ({ reason }) => reason)

/** Puts a page at `/` and gives its URL. */
const at = (made: Site, page: Parameters<Site["pages"]["set"]>[1]) => {
  made.pages.set("/", page)
  return `${made.url}/`
}

layer(Reading, { excludeTestServices: true })("SourceReader", (it) => {
  it.scoped("reads a page into passages with its title and URL", () =>
    Effect.gen(function* () {
      const made = yield* site
      const url = at(made, html("<h1>Hours</h1><p>Nine to five.</p><h2>Holidays</h2><p>Closed.</p>"))
      expect(yield* read(url)).toMatchObject({
        passages: [
          { heading: "Shop > Hours", text: "Nine to five.", source_url: url },
          { heading: "Shop > Hours > Holidays", text: "Closed.", source_url: url }
        ],
        truncated: 0,
        keep: [],
        problems: []
      })
    })
  )

  it.scoped("reads plain text, Markdown, packed pages and other encodings", () =>
    Effect.gen(function* () {
      const made = yield* site
      const latin = Buffer.from("<p>Öffnungszeiten: täglich</p>", "latin1")
      const meta = Buffer.from(html("<p>täglich</p>").replace("<head>", '<head><meta charset="iso-8859-1">'), "latin1")
      for (const [page, text] of [
        [{ type: "text/plain; charset=utf-8", body: "# A\nPlain." }, "Plain."],
        [{ type: "text/markdown", body: "# A\nMarked *down*." }, "Marked *down*."],
        [{ headers: { "content-encoding": "gzip" }, body: gzipSync("<p>Packed</p>") }, "Packed"],
        [{ type: "text/html; charset=ISO-8859-1", body: latin }, "Öffnungszeiten: täglich"],
        [{ body: meta }, "täglich"],
        [{ type: "text/plain", body: Buffer.from("\ufeffsechzehn", "utf16le") }, "sechzehn"]
      ] as const) {
        expect(yield* textsOf(at(made, page))).toEqual([text])
      }
    })
  )

  it.scoped("reads the pages of a sitemap, of an index, and of packed ones", () =>
    Effect.gen(function* () {
      const made = yield* site
      for (const name of ["a", "b"]) made.pages.set(`/${name}`, html(`<p>Page ${name}.</p>`))
      const url = made.list(["/a", "/b"])
      expect(yield* textsOf(url)).toEqual(["Page a.", "Page b."])
      const sitemap = made.pages.get("/sitemap.xml")
      const body = typeof sitemap === "object" ? Buffer.from(sitemap.body ?? "") : Buffer.alloc(0)
      made.pages.set("/sitemap.xml.gz", { type: "application/x-gzip", body: gzipSync(body) })
      const index = `<sitemapindex><sitemap><loc>${made.url}/sitemap.xml.gz</loc></sitemap></sitemapindex>`
      expect(yield* textsOf(at(made, { type: "text/xml", body: index }))).toEqual(["Page a.", "Page b."])
    })
  )

  it.scoped("goes on without pages that cannot be read, and keeps those that are not gone", () =>
    Effect.gen(function* () {
      const made = yield* site
      made.pages.set("/a", html("<p>Page a.</p>"))
      made.pages.set("/broken", { status: 500 })
      made.pages.set("/image", { type: "image/png" })
      const url = made.list(["/a", "/gone", "/broken", "/image", "https://other.example.com/x"])
      expect(yield* read(url)).toMatchObject({
        passages: [{ text: "Page a." }],
        keep: [`${made.url}/broken`, `${made.url}/image`],
        problems: [
          `${made.url}/gone answered with status 404`,
          `${made.url}/broken answered with status 500`,
          `${made.url}/image has the content type image/png; only HTML, plain text, Markdown and XML sitemaps can be read`,
          "https://other.example.com/x is on another host than the sitemap and is not read"
        ]
      })
      expect(yield* reasonOf(made.list(["/gone"]))).toBe(
        `${made.url}/sitemap.xml lists 1 pages, none of which could be read: ${made.url}/gone answered with status 404`
      )
    })
  )

  it.scoped("does not request what robots.txt excludes", () =>
    Effect.gen(function* () {
      const made = yield* site
      made.pages.set("/robots.txt", {
        type: "text/plain",
        body: "User-agent: *\nDisallow: /b\n\nUser-agent: SvcBot\nDisallow: /c"
      })
      for (const name of ["a", "b", "c"]) made.pages.set(`/${name}`, html(`<p>Page ${name}.</p>`))
      const { keep, passages, problems } = yield* read(made.list(["/a", "/b", "/c"]))
      expect(passages.map(({ text }) => text)).toEqual(["Page a.", "Page b."])
      expect([keep, problems]).toEqual([
        [],
        [`${made.url}/c may not be read: the robots.txt of its host excludes SvcBot`]
      ])
      expect(made.requests).not.toContain("/c")
      const body = gzipSync("User-agent: *\nDisallow: /a")
      made.pages.set("/robots.txt", { type: "text/plain", headers: { "content-encoding": "gzip" }, body })
      expect(yield* reasonOf(`${made.url}/a`)).toContain("the robots.txt of its host excludes SvcBot")
      made.pages.set("/robots.txt", { status: 503 })
      expect(yield* reasonOf(`${made.url}/a`)).toContain("its robots.txt could not be requested (status 503)")
    })
  )

  it.scoped("follows five redirects, checks each, and asks the robots.txt of where it leads", () =>
    Effect.gen(function* () {
      const made = yield* site
      const other = yield* site
      const to = (location: string, status = 302) => ({ status, headers: { location } })
      for (let n = 1; n <= 6; n++) made.pages.set(`/${n}`, to(n === 6 ? `${other.url}/end` : `/${n + 1}`))
      other.pages.set("/end", html("<p>There.</p>"))
      expect(yield* textsOf(`${made.url}/2`)).toEqual(["There."])
      expect(yield* reasonOf(`${made.url}/1`)).toBe(`${made.url}/1 redirects more than 5 times`)
      for (const [location, reason] of [
        ["http://169.254.169.254/latest/meta-data", "its host has a reserved address"],
        ["http://metadata.google.internal/", "its host has a reserved address"],
        ["ftp://example.com/", "only addresses that begin with https:// can be read"],
        ["http://user:pw@127.0.0.1/", "the address contains a user name or password"]
      ] as const) {
        made.pages.set("/evil", to(location))
        expect(yield* reasonOf(`${made.url}/evil`)).toContain(`cannot be read: ${reason}`)
      }
      other.pages.set("/robots.txt", { type: "text/plain", body: "User-agent: *\nDisallow: /" })
      expect(yield* reasonOf(`${made.url}/2`)).toBe(
        `${other.url}/end may not be read: the robots.txt of its host excludes SvcBot`
      )
      expect(other.requests).toEqual(["/end"])
    })
  )

  describe("refuses", () => {
    const large = "x".repeat(1_000_001)
    it.effect.each<readonly [string, Parameters<Site["pages"]["set"]>[1], string]>([
      ["another content type", { type: "application/pdf" }, "has the content type application/pdf; only HTML"],
      ["no content type", (response) => response.writeHead(200).end("x"), "has no content type; only HTML"],
      ["a page over 1 MB", { body: large }, "is larger than 1 MB"],
      [
        "a body without an end",
        (response) => {
          const more = () => void (response.destroyed || response.write(large, more))
          more()
        },
        "is larger than 1 MB"
      ],
      [
        "a packed bomb",
        { headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(50_000_000)) },
        "is larger than 1 MB when it is unpacked"
      ],
      ["wrong packing", { headers: { "content-encoding": "gzip" }, body: "hello" }, "is not valid gzip"],
      ["unknown packing", { headers: { "content-encoding": "zip" } }, "is packed as zip, which cannot be read"],
      ["an unknown encoding", { type: "text/plain; charset=klingon", body: "x" }, "is in the encoding klingon"],
      ["a page without text", html("<script>render()</script>"), "has no text to read; pages that a script builds"],
      ["deep nesting", html(`${"<div>".repeat(10_000)}x`), "is nested too deeply to be read"],
      [
        "a sitemap of too many pages",
        (response) => {
          response.writeHead(200, { "content-type": "application/xml" })
          response.end(
            `<urlset>${Array.from({ length: 10_000 }, (_, n) => `<url><loc>/${n}</loc></url>`).join("")}</urlset>`
          )
        },
        "lists more than 200 pages, which is the most that can be read"
      ],
      [
        "a sitemap over 1 MB",
        {
          type: "application/xml",
          body: `<urlset>${"<url><loc>http://example.com/page</loc></url>".repeat(200_000)}</urlset>`
        },
        "is larger than 1 MB"
      ],
      [
        "a broken connection",
        (response) => response.destroy(),
        "cannot be read: its server closed the connection before its response was complete"
      ],
      ["a failing server", { status: 503 }, "answered with status 503"],
      ["an empty sitemap", { type: "text/xml", body: "<urlset/>" }, "lists no pages"]
    ])("%s", ([, page, reason]) =>
      Effect.gen(function* () {
        const made = yield* site
        const url = at(made, page)
        expect(yield* reasonOf(url)).toContain(`${url} ${reason}`)
      }).pipe(Effect.scoped)
    )
  })

  it.scoped("ends a page that takes too much memory, and reads the next", () =>
    Effect.gen(function* () {
      const made = yield* site
      const attributes = Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(" ")
      const hostile = at(made, html(`<p ${attributes}>${"<i>".repeat(20)}x</p>`.slice(0, 999_000)))
      yield* Effect.either(read(hostile))
      expect(yield* textsOf(at(made, html("<p>Fine.</p>")))).toEqual(["Fine."])
    })
  )

  it.scoped("stops when nobody wants the result", () =>
    Effect.gen(function* () {
      const made = yield* site
      const url = made.list(["/a", "/b"])
      const reader = yield* SourceReader
      yield* Effect.either(reader.read(url, Effect.succeed(false)))
      expect(made.requests).toEqual(["/sitemap.xml"])
    })
  )
})
