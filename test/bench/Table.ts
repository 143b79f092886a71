import { type Line, verdictOf } from "./Verdict.ts"

const number = (figure: number, unit: Line["unit"]): string => {
  const digits = unit === "" || unit === "KB" ? (Number.isInteger(figure) ? 0 : 1) : figure < 1 ? 3 : 1
  return `${figure.toFixed(digits)}${unit === "" ? "" : ` ${unit}`}`
}

const budgetOf = ({ budget, unit }: Line): string => {
  if (budget === undefined) return ""
  const sign = budget.atLeast === true ? "≥" : budget.atMost === true ? "≤" : "<"
  return `${sign} ${number(budget.must, unit)} (${sign} ${number(budget.goal, unit)})`
}

/** The result as a text table. `columns`: the names of the judged figure and of the others of a line. */
export const table = (
  title: string,
  lines: ReadonlyArray<Line>,
  columns: ReadonlyArray<string> = ["figure"]
): string => {
  const rows = [
    ["", ...columns, "must (goal)", ""],
    ...lines.map((line) => {
      const figures = [line.figure, ...(line.others ?? [])].map((figure) => number(figure, line.unit))
      const cells = columns.map((_, index) => figures[index] ?? "")
      return [line.what, ...cells, budgetOf(line), verdictOf(line) ?? ""]
    })
  ]
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const pad = (row: ReadonlyArray<string>): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return column >= 1 && column <= columns.length ? cell.padStart(width) : cell.padEnd(width)
      })
      .join("  ")
  return [title, "", ...rows.map((row) => pad(row).trimEnd())].join("\n")
}
