import { type Line, verdictOf } from "./Verdict.ts"

const number = (figure: number, unit: Line["unit"]): string => {
  const digits = unit === "" || unit === "KB" ? (Number.isInteger(figure) ? 0 : 1) : figure < 1 ? 3 : 1
  return `${figure.toFixed(digits)}${unit === "" ? "" : ` ${unit}`}`
}

const budgetOf = ({ budget, unit }: Line): string => {
  if (budget === undefined) return ""
  const sign = budget.atLeast === true ? "≥" : "<"
  return `${sign} ${number(budget.must, unit)} (${sign} ${number(budget.goal, unit)})`
}

/** The result as a text table. */
export const table = (title: string, lines: ReadonlyArray<Line>): string => {
  const rows = [
    ["", "figure", "must (goal)", ""],
    ...lines.map((line) => [line.what, number(line.figure, line.unit), budgetOf(line), verdictOf(line) ?? ""])
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const pad = ([what = "", figure = "", budget = "", verdict = ""]: ReadonlyArray<string>): string =>
    `${what.padEnd(widths[0] ?? 0)}  ${figure.padStart(widths[1] ?? 0)}  ${budget.padEnd(widths[2] ?? 0)}  ${verdict}`
  return [title, "", ...rows.map((row) => pad(row).trimEnd())].join("\n")
}
