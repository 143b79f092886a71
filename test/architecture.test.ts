import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { fileCycles, packageCycles } from "./src/architecture/Cycles.ts"
import { declaredDependencies, exactVersions, usedDependencies } from "./src/architecture/Dependencies.ts"
import { barrels, fileLengths, fileNames, syntax } from "./src/architecture/Files.ts"
import { globals } from "./src/architecture/Globals.ts"
import { readHouse } from "./src/architecture/House.ts"
import { importTable } from "./src/architecture/ImportTable.ts"
import { importTablePage } from "./src/architecture/ImportTablePage.ts"
import { lockfile } from "./src/architecture/Lockfile.ts"
import { migrations } from "./src/architecture/Migrations.ts"
import { projectReferences } from "./src/architecture/Projects.ts"
import { readSourceTree } from "./src/architecture/SourceTree.ts"
import { tables } from "./src/architecture/Tables.ts"
import { report } from "./src/architecture/Violation.ts"

describe("The house", () => {
  const house = readHouse(readSourceTree(fileURLToPath(new URL("..", import.meta.url))))

  it("is read whole", () => {
    expect(house.workspaces.map(({ folder }) => folder)).toEqual(
      expect.arrayContaining(["apps/server", "packages/api", "plugins/simulated", "simulator", "test"])
    )
    expect(report(syntax(house))).toEqual([])
  })

  it("imports along the table only", () => {
    expect(report(importTable(house))).toEqual([])
  })

  it("shows the import table in docs/architecture.md", () => {
    expect(report(importTablePage(house))).toEqual([])
  })

  it("has no cycles between packages, nor between files that load each other", () => {
    expect(report([...packageCycles(house), ...fileCycles(house)])).toEqual([])
  })

  it("declares in each package what it imports, once, exactly, and nothing else", () => {
    expect(report([...declaredDependencies(house), ...usedDependencies(house), ...exactVersions(house)])).toEqual([])
  })

  it("has no barrels, and files that are named by the noun they hold and are short", () => {
    expect(report([...barrels(house), ...fileNames(house), ...fileLengths(house)])).toEqual([])
  })

  it("takes time, chance and the environment from Effect's services", () => {
    expect(report(globals()(house))).toEqual([])
  })

  it("builds by references that follow the declared dependencies", () => {
    expect(report(projectReferences(house))).toEqual([])
  })

  it("lists every migration, in order", () => {
    expect(report(migrations(house))).toEqual([])
  })

  it("uses each table in the package that owns it only", () => {
    expect(report(tables()(house))).toEqual([])
  })

  it("installs anywhere from its lockfile", () => {
    expect(report(lockfile(house))).toEqual([])
  })
})
