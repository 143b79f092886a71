import type { Repository, WorkspaceFile } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

const maxLines = 400
const vagueName = /^(utils?|helpers?|commons?|misc)$/i
const noun = /^[A-Z][A-Za-z0-9]*(\.d)?\.tsx?$/

const eachFile = (
  repository: Repository,
  rule: string,
  check: (file: WorkspaceFile) => ReadonlyArray<[number, string]>
) =>
  repository.workspaces.flatMap((workspace) =>
    workspace.files.flatMap((file) =>
      check(file).map(([line, message]): Violation => ({ file: file.path, line, rule, message }))
    )
  )

/** Every file parses: the other rules cannot check one that does not. */
export const syntax = (repository: Repository): ReadonlyArray<Violation> =>
  eachFile(repository, "syntax", ({ syntaxErrors }) => syntaxErrors.map(({ line, message }) => [line, message]))

/** There are no barrels: no `index.ts`, no file with nothing but re-exports. */
export const barrels = (repository: Repository): ReadonlyArray<Violation> =>
  eachFile(repository, "no barrels", ({ path, onlyReexports }) => {
    if (/(^|\/)index\.tsx?$/.test(path)) return [[1, "index files are barrels: import the file with the declaration"]]
    return onlyReexports ? [[1, "has nothing but re-exports: import the file with the declaration"]] : []
  })

/** Source files are nouns in PascalCase, except entry points (`main.ts`) and migrations (by number). */
export const fileNames = (repository: Repository): ReadonlyArray<Violation> =>
  eachFile(repository, "file names", ({ path, area }) => {
    const segments = path.split("/")
    const name = segments.at(-1) ?? ""
    const bad = segments.find((segment) => vagueName.test(segment.replace(/\.tsx?$/, "")))
    if (bad !== undefined) return [[1, `${bad} is too general: name what is in it`]]
    const isEntry = /^main\.tsx?$/.test(name)
    const isMigration = segments.at(-2) === "migrations" && /^\d{4}_[a-z0-9_]+\.ts$/.test(name)
    if (area === "test" || isEntry || isMigration || noun.test(name) || name.startsWith("index.")) return []
    return [[1, `${name} is not a noun in PascalCase`]]
  })

/** Source files have at most 400 lines. */
export const fileLengths = (repository: Repository): ReadonlyArray<Violation> =>
  eachFile(repository, "file length", ({ lines, area }) =>
    area === "source" && lines > maxLines ? [[maxLines + 1, `${lines} lines, at most ${maxLines}: split it`]] : []
  )
