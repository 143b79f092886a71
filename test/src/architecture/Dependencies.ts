import { Schema } from "effect"
import { type House, type HouseFile, lineIn, packageOf, type Workspace } from "./House.ts"
import type { Violation } from "./Violation.ts"

const rule = "dependencies"

const Peers = Schema.parseJson(
  Schema.Struct({
    packages: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({
        peerDependencies: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
      })
    })
  })
)

/** Which peers each installed package asks for, from the lockfile. */
const peersOf = (house: House): ReadonlyMap<string, ReadonlyArray<string>> => {
  const lock = house.tree.get("package-lock.json")
  if (lock === undefined) return new Map()
  const { packages } = Schema.decodeUnknownSync(Peers)(lock)
  return new Map(
    Object.entries(packages).map(([path, { peerDependencies = {} }]) => [
      path.replace(/^node_modules\//, ""),
      Object.keys(peerDependencies)
    ])
  )
}

const importedBy = (files: ReadonlyArray<HouseFile>): ReadonlySet<string> =>
  new Set(files.flatMap((file) => file.imports.flatMap(({ specifier }) => packageOf(specifier) ?? [])))

const inManifest = (house: House, { folder }: Workspace, name: string, message: string): Violation => {
  const file = `${folder}/package.json`
  return { file, line: lineIn(house.tree.get(file), `"${name}":`), rule, message }
}

/** Each source import is declared in its package's own package.json; tests may also use what the root provides. */
export const declaredDependencies = (house: House): ReadonlyArray<Violation> =>
  house.workspaces.flatMap(({ manifest, files }) => {
    const own = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }
    const forTests = { ...own, ...manifest.devDependencies, ...house.root.devDependencies, [manifest.name]: "" }
    return files.flatMap((file) => {
      const declared = file.area === "source" ? own : forTests
      return file.imports.flatMap(({ specifier, line }): ReadonlyArray<Violation> => {
        const name = packageOf(specifier)
        if (name === undefined || name in declared || name === manifest.name) return []
        return [
          { file: file.path, line, rule, message: `${name} is not declared in the package.json of ${manifest.name}` }
        ]
      })
    })
  })

/**
 * Each declared dependency is imported. Three kinds are used without an import: a package named in a string that is
 * resolved at run time, an optional one, and a peer that another declared dependency asks for.
 */
export const usedDependencies = (house: House): ReadonlyArray<Violation> => {
  const peers = peersOf(house)
  return house.workspaces.flatMap((workspace) => {
    const { manifest, files, folder } = workspace
    const sources = folder === "test" ? files : files.filter((file) => file.area === "source")
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    const imported = importedBy(sources)
    const named = new Set(sources.flatMap((file) => [...file.literals].map(packageOf)))
    const asked = new Set(declared.flatMap((name) => peers.get(name) ?? []))
    const inTests = importedBy(files)
    return [
      ...declared
        .filter((name) => !imported.has(name) && !named.has(name) && !asked.has(name))
        .map((name) => inManifest(house, workspace, name, `${name} is declared and never imported`)),
      ...Object.keys(manifest.devDependencies)
        .filter((name) => !inTests.has(name) && !name.startsWith("@types/"))
        .map((name) => inManifest(house, workspace, name, `${name} is a devDependency that no test imports`))
    ]
  })
}

/** One exact version of each package in the whole repository. */
export const exactVersions = (house: House): ReadonlyArray<Violation> => {
  const first = new Map<string, string>()
  for (const { manifest } of house.workspaces) first.set(manifest.name, manifest.version ?? "")
  const all = [{ folder: ".", manifest: house.root, files: [] }, ...house.workspaces]
  return all.flatMap((workspace) => {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = workspace.manifest
    const groups = [dependencies, devDependencies, optionalDependencies, peerDependencies]
    return groups.flatMap(Object.entries<string>).flatMap(([name, version]): ReadonlyArray<Violation> => {
      if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
        return [inManifest(house, workspace, name, `${name} ${version} is not an exact version`)]
      }
      const other = first.get(name)
      first.set(name, other ?? version)
      return other === undefined || other === version
        ? []
        : [inManifest(house, workspace, name, `${name} ${version}, but ${other} elsewhere in the repository`)]
    })
  })
}
