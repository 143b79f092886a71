import type { House, HouseFile } from "./House.ts"
import type { Violation } from "./Violation.ts"

const maxLines = 400
const drawer = /^(utils?|helpers?|commons?|misc)$/i
const noun = /^[A-Z][A-Za-z0-9]*(\.d)?\.tsx?$/

const eachFile = (house: House, rule: string, complain: (file: HouseFile) => ReadonlyArray<[number, string]>) =>
  house.workspaces.flatMap((workspace) =>
    workspace.files.flatMap((file) =>
      complain(file).map(([line, message]): Violation => ({ file: file.path, line, rule, message }))
    )
  )

/** Every file parses; a file that does not would slip through the other rules. */
export const syntax = (house: House): ReadonlyArray<Violation> =>
  eachFile(house, "syntax", ({ syntaxErrors }) => syntaxErrors.map(({ line, message }) => [line, message]))

/** Nobody imports through a middleman: no `index.ts`, no file that only passes on what others export. */
export const barrels = (house: House): ReadonlyArray<Violation> =>
  eachFile(house, "no barrels", ({ path, onlyReexports }) => {
    if (/(^|\/)index\.tsx?$/.test(path)) return [[1, "index files are barrels: import the file that holds the thing"]]
    return onlyReexports ? [[1, "exports nothing of its own: import the file that holds the thing"]] : []
  })

/** Sources are named by the noun they hold; entry points are `main.ts` and migrations carry their number. */
export const fileNames = (house: House): ReadonlyArray<Violation> =>
  eachFile(house, "file names", ({ path, area }) => {
    const segments = path.split("/")
    const name = segments.at(-1) ?? ""
    const bad = segments.find((segment) => drawer.test(segment.replace(/\.tsx?$/, "")))
    if (bad !== undefined) return [[1, `${bad} says nothing: name what is in it`]]
    const isEntry = /^main\.tsx?$/.test(name)
    const isMigration = segments.at(-2) === "migrations" && /^\d{4}_[a-z0-9_]+\.ts$/.test(name)
    if (area === "test" || isEntry || isMigration || noun.test(name) || name.startsWith("index.")) return []
    return [[1, `${name} is not a noun in PascalCase`]]
  })

/** A source file longer than this holds two things. */
export const fileLengths = (house: House): ReadonlyArray<Violation> =>
  eachFile(house, "file length", ({ lines, area }) =>
    area === "source" && lines > maxLines
      ? [[maxLines + 1, `${lines} lines, at most ${maxLines}: find the second noun`]]
      : []
  )
