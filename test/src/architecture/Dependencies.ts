import { Schema } from "effect"
import { lineIn, packageOf, type Repository, type Workspace, type WorkspaceFile } from "./Repository.ts"
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

/** The peer dependencies of each installed package, from the lockfile. */
const peersOf = (repository: Repository): ReadonlyMap<string, ReadonlyArray<string>> => {
  const lock = repository.tree.get("package-lock.json")
  if (lock === undefined) return new Map()
  const { packages } = Schema.decodeUnknownSync(Peers)(lock)
  return new Map(
    Object.entries(packages).map(([path, { peerDependencies = {} }]) => [
      path.replace(/^node_modules\//, ""),
      Object.keys(peerDependencies)
    ])
  )
}

const importedBy = (files: ReadonlyArray<WorkspaceFile>): ReadonlySet<string> =>
  new Set(files.flatMap((file) => file.imports.flatMap(({ specifier }) => packageOf(specifier) ?? [])))

const inManifest = (repository: Repository, { folder }: Workspace, name: string, message: string): Violation => {
  const file = `${folder}/package.json`
  return { file, line: lineIn(repository.tree.get(file), `"${name}":`), rule, message }
}

/**
 * Each import of a source is declared in its own package.json. Tests, and sources for tests (those of `test`, and those
 * in a folder `testing`), may also use its development dependencies and those of the root: production does not install
 * them.
 */
export const declaredDependencies = (repository: Repository): ReadonlyArray<Violation> =>
  repository.workspaces.flatMap(({ folder, manifest, files }) => {
    const own = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }
    const forTests = { ...own, ...manifest.devDependencies, ...repository.root.devDependencies, [manifest.name]: "" }
    return files.flatMap((file) => {
      const isForTests = file.area !== "source" || folder === "test" || file.path.includes("/testing/")
      const declared = isForTests ? forTests : own
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
 * Each declared dependency is imported. Exceptions: a package named in a string literal, which is resolved at run time,
 * an optional one, and a peer of another declared dependency.
 */
export const usedDependencies = (repository: Repository): ReadonlyArray<Violation> => {
  const peers = peersOf(repository)
  return repository.workspaces.flatMap((workspace) => {
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
        .map((name) => inManifest(repository, workspace, name, `${name} is declared and never imported`)),
      ...Object.keys(manifest.devDependencies)
        .filter((name) => !inTests.has(name) && !name.startsWith("@types/"))
        .map((name) => inManifest(repository, workspace, name, `${name} is a devDependency that no test imports`))
    ]
  })
}

/** One exact version of each package in the whole repository. */
export const exactVersions = (repository: Repository): ReadonlyArray<Violation> => {
  const first = new Map<string, string>()
  for (const { manifest } of repository.workspaces) first.set(manifest.name, manifest.version ?? "")
  const all = [{ folder: ".", manifest: repository.root, files: [] }, ...repository.workspaces]
  return all.flatMap((workspace) => {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = workspace.manifest
    const groups = [dependencies, devDependencies, optionalDependencies, peerDependencies]
    return groups.flatMap(Object.entries<string>).flatMap(([name, version]): ReadonlyArray<Violation> => {
      if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
        return [inManifest(repository, workspace, name, `${name} ${version} is not an exact version`)]
      }
      const other = first.get(name)
      first.set(name, other ?? version)
      return other === undefined || other === version
        ? []
        : [inManifest(repository, workspace, name, `${name} ${version}, but ${other} in another package.json`)]
    })
  })
}
