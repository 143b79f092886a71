import { isProbablyReaderable, Readability } from "@mozilla/readability"
import { parseHTML } from "linkedom"
import TurndownService from "turndown"

/** The parts of linkedom's nodes that are used here. */
interface PageNode {
  readonly nodeName: string
  readonly textContent: string | null
  readonly querySelector: (selector: string) => PageNode | null
  readonly querySelectorAll: (selector: string) => Iterable<PageNode>
  readonly remove: () => void
  readonly firstChild: PageNode | null
  readonly nextSibling: PageNode | null
  readonly parentNode: PageNode | null
}
interface PageDocument extends PageNode {
  readonly title: string
  readonly documentElement: PageNode | null
  readonly body: PageNode
}

/** Deepest nesting of elements; far deeper ones take time that grows with the square of the depth. */
const maxDepth = 500

/** Throws a RangeError when the nodes below this one are nested too deeply. */
const checkDepth = (root: PageNode): void => {
  let depth = 0
  let node: PageNode | null = root
  while (node !== null) {
    if (depth > maxDepth) throw new RangeError("nested too deeply")
    let next: PageNode | null = node.firstChild
    if (next !== null) depth++
    else {
      while (node !== null && node !== root && node.nextSibling === null) {
        node = node.parentNode
        depth--
      }
      next = node === null || node === root ? null : node.nextSibling
    }
    node = next
  }
}

const parse = (html: string): PageDocument => {
  const { document }: { readonly document: PageDocument } = parseHTML(html)
  const root = document.documentElement
  // Without an <html> element linkedom puts what follows outside of the body.
  if (root?.nodeName.toLowerCase() !== "html") return parse(`<html><body>${html}</body></html>`)
  checkDepth(root)
  return document
}

/** What is not part of what a page says. */
const invisible =
  "script, style, noscript, template, svg, canvas, iframe, object, embed, form, dialog, [hidden], [aria-hidden=true]"
const around = "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=search]"

const turndown = new TurndownService({ headingStyle: "atx", bulletListMarker: "-", codeBlockStyle: "fenced" })
// Agents speak the text: addresses, pictures and emphasis are dropped.
turndown.addRule("plain", { filter: ["a", "b", "strong", "i", "em", "code"], replacement: (content) => content })
turndown.addRule("picture", { filter: "img", replacement: () => "" })
turndown.addRule("cell", {
  filter: ["td", "th"],
  // A cell with paragraphs in it is layout.
  replacement: (content) =>
    /\n\s*\n/.test(content.trim()) ? `\n\n${content}\n\n` : ` ${content.trim().replace(/\s+/g, " ")} |`
})
turndown.addRule("row", { filter: "tr", replacement: (content) => `\n|${content}\n` })
turndown.escape = (text) => text

const markdownOf = (node: PageNode): string => {
  // Typed for the nodes of browsers.
  const input: Parameters<typeof turndown.turndown>[0] = node
  return turndown.turndown(input)
}

const lengthOf = (node: PageNode): number => node.textContent?.trim().length ?? 0

/** The article of a page, when it has one that is most of what the page says. */
const articleOf = (html: string, least: number): PageNode | undefined => {
  const document = parse(html)
  if (!isProbablyReaderable(document)) return undefined
  const article = new Readability<PageNode>(document, { serializer: (node: PageNode) => node }).parse()
  const content = article?.content ?? undefined
  return content !== undefined && lengthOf(content) >= least ? content : undefined
}

/** The title of an HTML page, and what it says as Markdown. */
export const htmlText = (html: string): { readonly title: string | null; readonly text: string } => {
  const document = parse(html)
  const title = document.title.replace(/\s+/g, " ").trim().slice(0, 200)
  for (const node of document.querySelectorAll(invisible)) node.remove()
  const main = document.querySelector("main, [role=main]")
  if (main === null) for (const node of document.querySelectorAll(around)) node.remove()
  const whole = main ?? document.body
  const content = articleOf(html, lengthOf(whole) / 2) ?? whole
  return { title: title === "" ? null : title, text: markdownOf(content) }
}
