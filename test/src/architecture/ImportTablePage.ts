import { importRows } from "./ImportTable.ts"
import { lineIn, type Repository } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

const rule = "import table page"
const page = "docs/architecture.md"
const heading = "## Who may import whom"

/** The cells of the table's rows, without its head. */
const rowsOf = (text: string): ReadonlyArray<readonly [string, string]> => {
  const section = text.split(heading)[1]?.split("\n## ")[0] ?? ""
  return section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => {
      const [, workspace = "", mayImport = ""] = line.split("|").map((cell) => cell.trim().replaceAll("`", ""))
      return [workspace, mayImport]
    })
}

/** The table in docs/architecture.md is the one that imports are checked against: same rows, same order. */
export const importTablePage = ({ tree }: Repository): ReadonlyArray<Violation> => {
  const text = tree.get(page) ?? ""
  const shown = rowsOf(text)
  const violation = (message: string, row = ""): Violation => ({
    file: page,
    line: lineIn(text, row === "" ? heading : `| \`${row}\``),
    rule,
    message
  })
  const wrong = importRows.flatMap(([workspace, mayImport]) => {
    const row = shown.find(([name]) => name === workspace)
    if (row === undefined) return [violation(`has no row for ${workspace}: ${mayImport}`)]
    return row[1] === mayImport ? [] : [violation(`${workspace} may import ${mayImport}`, workspace)]
  })
  const names = importRows.map(([workspace]) => workspace)
  const extra = shown
    .filter(([workspace]) => !names.includes(workspace))
    .map(([workspace]) => violation(`${workspace} has no row in ImportTable.ts`, workspace))
  return [...wrong, ...extra]
}
