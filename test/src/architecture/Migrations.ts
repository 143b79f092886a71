import { type Repository, resolveFrom } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

const rule = "migrations"

/** Migrations are numbered 1, 2, 3, … without gaps, and one file lists all of them in that order. */
export const migrations = (repository: Repository): ReadonlyArray<Violation> =>
  repository.workspaces.flatMap(({ files }) => {
    const found = files
      .map((file) => file.path)
      .filter((path) => /\/src\/(.*\/)?migrations\/\d{4}_[^/]+\.ts$/.test(path))
      .toSorted()
    const numbering = found.flatMap((file, index): ReadonlyArray<Violation> => {
      const expected = String(index + 1).padStart(4, "0")
      const actual = (file.split("/").at(-1) ?? "").slice(0, 4)
      return actual === expected ? [] : [{ file, line: 1, rule, message: `is number ${actual}, expected ${expected}` }]
    })
    const lists = files.flatMap((file) => {
      const listed = file.imports
        .filter(({ kind, specifier }) => kind === "value" && specifier.startsWith("."))
        .map(({ specifier, line }) => ({ path: resolveFrom(file.path, specifier), line }))
        .filter(({ path }) => found.includes(path))
      return file.area === "source" && listed.length > 0 ? [{ file: file.path, listed }] : []
    })
    const unlisted = found
      .filter((path) => !lists.some(({ listed }) => listed.some((entry) => entry.path === path)))
      .map((file) => ({ file, line: 1, rule, message: "is in no list, so it never runs" }))
    const order = lists.flatMap(({ file, listed }) =>
      listed
        .filter(({ path }, index) => path < (listed[index - 1]?.path ?? ""))
        .map(({ path, line }) => ({ file, line, rule, message: `lists ${path} out of order` }))
    )
    const second = lists
      .slice(1)
      .map(({ file }) => ({ file, line: 1, rule, message: "is a second list of migrations" }))
    return [...numbering, ...unlisted, ...order, ...second]
  })
