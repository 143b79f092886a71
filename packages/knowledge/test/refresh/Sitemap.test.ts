import { describe, expect, it } from "@effect/vitest"
import { readSitemap } from "../../src/refresh/Sitemap.ts"

const base = "https://example.com/sitemap.xml"
const namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const urlset = (urls: ReadonlyArray<string>) =>
  `<?xml version="1.0"?><urlset ${namespace}>${urls.map((url) => `<url><loc> ${url}\n</loc></url>`).join("")}</urlset>`

describe("readSitemap", () => {
  it("lists the pages of a sitemap once each, and no locations of images", () => {
    const image = `<url><loc>https://example.com/c?a=1&amp;b=2</loc><image:image xmlns:image="urn:i"><image:loc>https://x.com/i.png</image:loc></image:image></url>`
    const text = urlset(["https://example.com/a", "/b", "https://example.com/a", "http://["]).replace(
      "</urlset>",
      `${image}</urlset>`
    )
    expect(readSitemap(text, base)).toEqual({
      _tag: "Sitemap",
      pages: ["https://example.com/a", "https://example.com/b", "https://example.com/c?a=1&b=2"],
      sitemaps: []
    })
  })

  it("lists the sitemaps of an index", () => {
    const text = `<sitemapindex ${namespace}><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>`
    expect(readSitemap(text, base)).toEqual({ _tag: "Sitemap", pages: [], sitemaps: ["https://example.com/1.xml"] })
  })

  it.each([
    ["urlset", "url", "pages"],
    ["sitemapindex", "sitemap", "sitemaps"]
  ] as const)("reads a <loc> of a %s that is CDATA, whole or in part", (outermost, entry, list) => {
    const locations = ["<![CDATA[https://example.com/a?b=1&c=2]]>", "\n <![CDATA[ /b]]>/c<!-- d -->"]
    const text = `<${outermost} ${namespace}>${locations.map((loc) => `<${entry}><loc>${loc}</loc></${entry}>`).join("")}</${outermost}>`
    expect(readSitemap(text, base)).toMatchObject({
      [list]: ["https://example.com/a?b=1&c=2", "https://example.com/b/c"]
    })
  })

  it.each(["", " \n ", "<![CDATA[ ]]>"])("leaves out a <loc> without an address: %j", (blank) => {
    const index = `<sitemapindex><sitemap><loc>${blank}</loc></sitemap><sitemap><loc/></sitemap></sitemapindex>`
    expect(readSitemap(index, base)).toMatchObject({ pages: [], sitemaps: [] })
    expect(readSitemap(urlset([blank, "/a"]), base)).toMatchObject({ pages: ["https://example.com/a"], sitemaps: [] })
  })

  it("stops when there are more pages than are read", () => {
    const answer = readSitemap(urlset(Array.from({ length: 20_000 }, (_, n) => `/page/${n}`)), base)
    expect(answer._tag === "Sitemap" && answer.pages.length).toBe(201)
  })

  const deep = `<urlset>${"<a>".repeat(100_000)}`
  const bomb = `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>`
  it.each([
    ["a feed", "<rss><channel/></rss>", "is XML, but not a sitemap: its outermost element is <rss>"],
    ["no XML", "hello", "is not well-formed XML"],
    ["half of one", `<urlset ${namespace}><url>`, "is not well-formed XML"],
    ["entities", bomb, "is not well-formed XML"],
    ["depth", deep, "is XML that is nested too deeply for a sitemap"]
  ])("refuses %s", (_, text, reason) => {
    expect(readSitemap(text, base)).toEqual({ _tag: "Refused", reason })
  })
})
