import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { citations } from "./src/architecture/Citations.ts"
import { fileCycles, packageCycles } from "./src/architecture/Cycles.ts"
import { declaredDependencies, exactVersions, usedDependencies } from "./src/architecture/Dependencies.ts"
import { barrels, fileLengths, fileNames, syntax } from "./src/architecture/Files.ts"
import { globals } from "./src/architecture/Globals.ts"
import { importTable } from "./src/architecture/ImportTable.ts"
import { importTablePage } from "./src/architecture/ImportTablePage.ts"
import { lockfile } from "./src/architecture/Lockfile.ts"
import { migrations } from "./src/architecture/Migrations.ts"
import { projectReferences } from "./src/architecture/Projects.ts"
import { readRepository } from "./src/architecture/Repository.ts"
import { readSourceTree } from "./src/architecture/SourceTree.ts"
import { tables } from "./src/architecture/Tables.ts"
import { report } from "./src/architecture/Violation.ts"

describe("The repository", () => {
  const repository = readRepository(readSourceTree(fileURLToPath(new URL("..", import.meta.url))))

  it("parses, with all workspaces", () => {
    expect(repository.workspaces.map(({ folder }) => folder)).toEqual(
      expect.arrayContaining(["apps/server", "packages/api", "plugins/simulated", "simulator", "test"])
    )
    expect(report(syntax(repository))).toEqual([])
  })

  it("follows the import table", () => {
    expect(report(importTable(repository))).toEqual([])
  })

  it("shows the import table in docs/architecture.md", () => {
    expect(report(importTablePage(repository))).toEqual([])
  })

  it("cites only documents, files and headings that exist in the repository", () => {
    expect(report(citations(repository))).toEqual([])
  })

  it("has no cycles between packages, nor between files that load each other", () => {
    expect(report([...packageCycles(repository), ...fileCycles(repository)])).toEqual([])
  })

  it("declares in each package.json exactly the dependencies that the package imports, each in one version", () => {
    expect(
      report([...declaredDependencies(repository), ...usedDependencies(repository), ...exactVersions(repository)])
    ).toEqual([])
  })

  it("has no barrels, and source files that are nouns in PascalCase with at most 400 lines", () => {
    expect(report([...barrels(repository), ...fileNames(repository), ...fileLengths(repository)])).toEqual([])
  })

  it("uses Effect's services for time, randomness and the environment", () => {
    expect(report(globals()(repository))).toEqual([])
  })

  it("has project references that match the declared dependencies", () => {
    expect(report(projectReferences(repository))).toEqual([])
  })

  it("lists all migrations in order", () => {
    expect(report(migrations(repository))).toEqual([])
  })

  it("uses each table only in the package that owns it", () => {
    expect(report(tables()(repository))).toEqual([])
  })

  it("has a complete lockfile of public packages", () => {
    expect(report(lockfile(repository))).toEqual([])
  })
})
