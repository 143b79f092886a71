import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { turnTable } from "../../src/machines/TurnTable.ts"

const source = readFileSync(fileURLToPath(new URL("../../src/machines/TurnTable.ts", import.meta.url)), "utf8")

/** The table as Markdown, with one row for all floors with the same actions. */
const markdown = (): ReadonlyArray<string> => {
  const inputs = Object.keys(turnTable.nobody)
  const rows = new Map<string, Array<string>>()
  for (const [floor, row] of Object.entries(turnTable)) {
    const cells = Object.values(row).join(" | ")
    rows.set(cells, [...(rows.get(cells) ?? []), floor])
  }
  return [
    `| floor | ${inputs.join(" | ")} |`,
    `|---|${inputs.map(() => "---|").join("")}`,
    ...[...rows].map(([cells, floors]) => `| ${floors.join(", ")} | ${cells} |`)
  ]
}

describe("the turn table", () => {
  it("is the table in its documentation comment", () => {
    const documented = source.split("\n").filter((line) => line.startsWith(" * |"))
    expect(documented).toEqual(markdown().map((line) => ` * ${line}`))
  })
})
