import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Rendered, type Resolve, render } from "./Markdown.ts"

/** The folder of the repository; this file is as deep in `dist` as in `src`. */
const root = fileURLToPath(new URL("../../../../../", import.meta.url))

/** A page of the documentation. */
export interface Guide {
  /** Its file, relative to the repository. */
  readonly source: string
  /** Where the server has it. */
  readonly path: string
  readonly title: string
  readonly render: () => Rendered
}

/** Texts outside of `docs` that its pages link to. */
const others = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "plugins/simulated/README.md"]

/** `docs/calls.md` is `/guides/calls`, `docs/reference/README.md` is `/guides/reference`. */
const pathOf = (source: string): string => `/guides/${source.replace(/^docs\//, "").replace(/(\/README)?\.md$/, "")}`

const filesIn = (folder: string): ReadonlyArray<string> =>
  existsSync(root + folder)
    ? readdirSync(root + folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
        .toSorted()
    : []

/** Where the server has what a page links to: another page, a picture, another host. */
const resolver =
  (source: string, served: ReadonlyMap<string, string>): Resolve =>
  (href) => {
    if (/^(https?:|mailto:|#)/.test(href)) return href
    const { hash, pathname } = new URL(href, `file:///${source}`)
    const file = decodeURIComponent(pathname).slice(1)
    const path = served.get(file) ?? served.get(`${file.replace(/\/$/, "")}/README.md`)
    return path === undefined ? undefined : path + hash
  }

/** The documentation that the repository contains. */
export interface Documentation {
  readonly guides: ReadonlyArray<Guide>
  /** Their SVG pictures. */
  readonly pictures: ReadonlyArray<{ readonly path: string; readonly read: () => Uint8Array }>
}

/** Reads it; empty when the server was installed without. */
export const readDocumentation = (): Documentation => {
  const files = [...others.filter((file) => existsSync(root + file)), ...filesIn("docs")]
  const texts = files.filter((file) => file.endsWith(".md"))
  const pictures = files
    .filter((file) => file.endsWith(".svg"))
    .map((file) => ({ file, path: file.replace(/^docs\//, "/guides/") }))
  const served = new Map([
    ...texts.map((file) => [file, pathOf(file)] as const),
    ...pictures.map(({ file, path }) => [file, path] as const)
  ])
  return {
    guides: texts.map((source) => {
      const text = readFileSync(root + source, "utf8")
      return {
        source,
        path: pathOf(source),
        title: source === "README.md" ? "Overview" : (/^# (.+)$/m.exec(text)?.[1] ?? source),
        render: () => render(text, resolver(source, served))
      }
    }),
    pictures: pictures.map(({ file, path }) => ({ path, read: () => readFileSync(root + file) }))
  }
}
