/** Rows as aligned columns under their names, for people. */
export const table = (rows: ReadonlyArray<Readonly<Record<string, string | number | null>>>): string => {
  const [first] = rows
  if (first === undefined) return "none"
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => String(row[name] ?? "–")))]
  const widths = names.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)))
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
