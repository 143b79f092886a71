import type { Repository } from "./Repository.ts"
import { resolveFrom } from "./Repository.ts"
import type { SourceTree } from "./SourceTree.ts"
import type { Violation } from "./Violation.ts"

const rule = "citations"

/** Cites pages that do not exist, as data for the tests of this rule. */
const ownTests = "test/architecture-rules.test.ts"

/** References to documents that are not part of the repository. */
const outside = [
  /\bspecs? §? ?\d+(?:\.\d+)*[a-z]?/i,
  /\b(?:spec|specification|decisions?|architecture|performance|style)(?:\.md)? ?§/i,
  /\bdecisions? \d+\.\d+/i,
  /(?<!\bRFC \d{3,5},? )§ ?\d/,
  /\bthe spec(?:ification)?\b/i
]

/** A page of the documentation as text cites it: from the root of the repository, with an optional heading. */
const citedPage = /(?<![\w/.-])(docs\/[\w/-]+\.md)(?:#([\w-]+)|, "([^"]+)")?/g

/** A relative link in Markdown to a page or a source file, with an optional heading. */
const link = /\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g

/** A file or folder of the repository as documents name it, below a package. */
const namedPath = /`((?:packages|apps|plugins)\/[\w-]+\/[\w./-]+|(?:simulator|test)\/[\w./-]+)`/g

const isThere = (tree: SourceTree, path: string): boolean =>
  /\.\w+$/.test(path)
    ? tree.has(path) || !/\.(tsx?|mjs|md)$/.test(path)
    : [...tree.keys()].some((key) => key.startsWith(`${path.replace(/\/$/, "")}/`))

/** The text of the file `path` without the code blocks of Markdown, line by line: what is in them is not a citation. */
const linesOf = (path: string, text: string): ReadonlyArray<string> => {
  if (!path.endsWith(".md")) return text.split("\n")
  let inBlock = false
  return text.split("\n").map((line) => {
    const isFence = /^\s*```/.test(line)
    if (isFence) inBlock = !inBlock
    return inBlock || isFence ? "" : line
  })
}

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-")

const headingsOf = (tree: SourceTree, page: string): ReadonlyArray<string> =>
  linesOf(page, tree.get(page) ?? "").flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? [])

/** What is wrong with a reference to a page and one of its headings. */
const missing = (tree: SourceTree, page: string, anchor?: string, heading?: string): string | undefined => {
  if (!tree.has(page)) return `${page} does not exist`
  const headings = headingsOf(tree, page)
  if (heading !== undefined && !headings.includes(heading)) return `${page} has no heading "${heading}"`
  if (anchor !== undefined && page.endsWith(".md") && !headings.some((one) => anchorOf(one) === anchor)) {
    return `${page} has no heading for #${anchor}`
  }
  return undefined
}

const problemsOf = (tree: SourceTree, file: string, line: string): ReadonlyArray<string> => {
  const found = outside.map((pattern) => pattern.exec(line)?.[0]).find((text) => text !== undefined)
  const cited = [...line.matchAll(citedPage)].map(([, page = "", anchor, heading]) =>
    missing(tree, page, anchor, heading)
  )
  const linked = file.endsWith(".md")
    ? [...line.matchAll(link)].map(([, path = "", anchor]) => {
        const target = path === "" ? file : resolveFrom(file, path)
        return /\.(md|tsx?|mjs)$/.test(target) ? missing(tree, target, anchor) : undefined
      })
    : []
  const named = file.endsWith(".md")
    ? [...line.matchAll(namedPath)].map(([, path = ""]) => (isThere(tree, path) ? undefined : `${path} does not exist`))
    : []
  return [
    ...(found === undefined ? [] : [`"${found}" cites a document outside the repository`]),
    ...[...cited, ...linked, ...named].filter((message) => message !== undefined)
  ]
}

/**
 * Sources, tests and documents cite only what is in the repository, or a public document such as an RFC by its number:
 * pages that exist, and headings that they have.
 */
export const citations = ({ tree }: Repository): ReadonlyArray<Violation> =>
  [...tree]
    .filter(([path]) => path !== ownTests && /\.(tsx?|mjs|md|ya?ml)$/.test(path))
    .flatMap(([file, text]) =>
      linesOf(file, text).flatMap((line, index) =>
        problemsOf(tree, file, line).map((message) => ({ file, line: index + 1, rule, message }))
      )
    )
