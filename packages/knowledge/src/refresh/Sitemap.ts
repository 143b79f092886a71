import { SaxesParser } from "saxes"
import { type Answer, maxPages, maxSitemaps } from "./ReaderMessages.ts"

/** Characters that are parsed at a time. Few, as the parser looks for the namespace of a tag in all that it is in. */
const piece = 4096
const maxDepth = 20
const maxUrl = 2048

const notXml: Answer = { _tag: "Refused", reason: "is not well-formed XML" }

/**
 * Reads a sitemap or a sitemap index (sitemaps.org). Stops as soon as it lists too much. Entities are not expanded, but
 * for the five of XML: documents with others are refused.
 */
export const readSitemap = (text: string, base: string): Answer => {
  const pages = new Set<string>()
  const sitemaps = new Set<string>()
  const path: Array<string> = []
  let location = ""
  let failed = false
  let refused: Answer | undefined
  const parser = new SaxesParser({ xmlns: true })
  const isLocation = () => path.length === 3 && path[2] === "loc"

  parser.on("error", () => {
    failed = true
  })
  parser.on("opentag", ({ local }) => {
    if (path.length === 0 && local !== "urlset" && local !== "sitemapindex") {
      refused = {
        _tag: "Refused",
        reason: `is XML, but not a sitemap: its outermost element is <${local.slice(0, 50)}>`
      }
    }
    path.push(local)
    if (path.length > maxDepth) refused = { _tag: "Refused", reason: "is XML that is nested too deeply for a sitemap" }
    location = ""
  })
  const addText = (part: string) => {
    if (isLocation() && location.length <= maxUrl) location += part
  }
  parser.on("text", addText)
  parser.on("cdata", addText)
  parser.on("closetag", () => {
    const url = location.trim()
    // An empty address would be that of the sitemap itself.
    if (isLocation() && url !== "" && url.length <= maxUrl && URL.canParse(url, base)) {
      const list = path[0] === "urlset" ? pages : sitemaps
      list.add(new URL(url, base).href)
    }
    path.pop()
  })

  const isEnough = () => failed || refused !== undefined || pages.size > maxPages || sitemaps.size > maxSitemaps
  for (let at = 0; at < text.length && !isEnough(); at += piece) parser.write(text.slice(at, at + piece))
  if (!isEnough()) parser.close()
  if (refused !== undefined) return refused
  if (failed) return notXml
  return {
    _tag: "Sitemap",
    pages: [...pages].slice(0, maxPages + 1),
    sitemaps: [...sitemaps].slice(0, maxSitemaps + 1)
  }
}
