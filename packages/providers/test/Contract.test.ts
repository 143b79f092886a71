import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const report = join(root, "test/contract.txt")
const typescript = createRequire(import.meta.url).resolve("typescript/package.json")

/** The declarations of what a plugin can import, without comments and without the conformance suites. */
const declarations = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "svc-contract-"))
  try {
    execFileSync(process.execPath, [
      join(dirname(typescript), "bin/tsc"),
      ...["-p", join(root, "tsconfig.json"), "--outDir", folder],
      ...["--emitDeclarationOnly", "--removeComments", "--declarationMap", "false"],
      ...["--incremental", "false", "--composite", "false"]
    ])
    return readdirSync(folder)
      .filter((name) => name.endsWith(".d.ts"))
      .sort()
      .map((name) => `==== ${name.replace(/\.d\.ts$/, "")}\n\n${readFileSync(join(folder, name), "utf8").trim()}\n`)
      .join("\n")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

it("contract.txt has the public types of the contract; `npm run contract:update` writes it", () => {
  const now = declarations()
  expect(now).toContain("export interface Capabilities {")
  if (process.env["CONTRACT"] === "update" && process.env["CI"] === undefined) writeFileSync(report, now)
  expect(readFileSync(report, "utf8")).toBe(now)
}, 120_000)
