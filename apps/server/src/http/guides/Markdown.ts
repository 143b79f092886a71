import MarkdownIt, { type Token } from "markdown-it"

/** A page's address for a link in its text; undefined: what the link names is not served. */
export type Resolve = (href: string) => string | undefined

/** CommonMark and tables. HTML in the text is escaped, and links with other protocols than http(s) stay text. */
const markdown = MarkdownIt({ html: false })
markdown.renderer.rules["table_open"] = () => `<div class="wide"><table>`
markdown.renderer.rules["table_close"] = () => `</table></div>`

/** A cell of a column that is aligned by a class: the policy of the pages allows no styles of elements. */
const cell = (name: "td" | "th") => (tokens: ReadonlyArray<Token>, index: number) => {
  const align = /text-align:(right|center)/.exec(String(tokens[index]?.attrGet("style") ?? ""))?.[1]
  return align === undefined ? `<${name}>` : `<${name} class="${align}">`
}
markdown.renderer.rules["td_open"] = cell("td")
markdown.renderer.rules["th_open"] = cell("th")

const textOf = (inline: Token | undefined): string =>
  (inline?.children ?? [])
    .map(({ content, type }) => (type === "text" || type === "code_inline" ? content : ""))
    .join("")

/** The anchor of a heading, made as GitHub does, so that links work in both places. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-")

const addAnchors = (tokens: ReadonlyArray<Token>): ReadonlySet<string> => {
  const taken = new Set<string>()
  tokens.forEach((token, index) => {
    if (token.type !== "heading_open") return
    const slug = slugOf(textOf(tokens[index + 1]))
    let id = slug
    for (let again = 1; taken.has(id); again++) id = `${slug}-${again}`
    taken.add(id)
    token.attrSet("id", id)
  })
  return taken
}

/** Changes addresses to those of the server. A link to what is not served becomes its text. */
const rewriteLinks = (tokens: ReadonlyArray<Token>, resolve: Resolve): void => {
  for (const inline of tokens) {
    const open: Array<boolean> = []
    inline.children = (inline.children ?? []).filter((token) => {
      if (token.type === "image") {
        token.attrSet("src", resolve(String(token.attrGet("src") ?? "")) ?? "")
        return true
      }
      if (token.type === "link_open") {
        const href = resolve(String(token.attrGet("href") ?? ""))
        open.push(href !== undefined)
        if (href !== undefined) token.attrSet("href", href)
        return href !== undefined
      }
      return token.type === "link_close" ? open.pop() === true : true
    })
  }
}

/** A text as HTML. */
export interface Rendered {
  /** The first heading, as text. */
  readonly title: string
  readonly html: string
  /** The anchors of its headings. */
  readonly anchors: ReadonlySet<string>
}

export const render = (text: string, resolve: Resolve): Rendered => {
  const environment = {}
  const tokens = markdown.parse(text, environment)
  const anchors = addAnchors(tokens)
  rewriteLinks(tokens, resolve)
  const first = tokens.findIndex(({ type }) => type === "heading_open")
  return {
    title: textOf(tokens[first + 1]),
    html: markdown.renderer.render(tokens, markdown.options, environment),
    anchors
  }
}
