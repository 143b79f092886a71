import { Schema } from "effect"
import { lineIn, type Repository, resolveFrom, type Workspace } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

const Project = Schema.Struct({
  references: Schema.optionalWith(Schema.Array(Schema.Struct({ path: Schema.String })), { default: () => [] })
})

const decode = Schema.decodeUnknownSync(Schema.parseJson(Project))

const referencesOf = (repository: Repository, file: string): ReadonlyArray<string> =>
  decode(repository.tree.get(file) ?? "{}").references.map(({ path }) => resolveFrom(file, path))

const declaredFolders = (repository: Repository, { manifest }: Workspace): ReadonlyArray<string> => {
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }
  return repository.workspaces.filter((other) => other.manifest.name in declared).map((other) => other.folder)
}

/** The compiler's project references match package.json, and the build reaches every package. */
export const projectReferences = (repository: Repository): ReadonlyArray<Violation> => {
  const rule = "project references"
  const built = repository.workspaces.filter(({ folder }) => folder !== "test")
  const perPackage = built.flatMap((workspace): ReadonlyArray<Violation> => {
    const file = `${workspace.folder}/tsconfig.json`
    if (!repository.tree.has(file)) return [{ file, line: 1, rule, message: "is missing: the build needs it" }]
    const references = referencesOf(repository, file)
    const declared = declaredFolders(repository, workspace)
    const at = (folder: string) => lineIn(repository.tree.get(file), `${folder.split("/").at(-1)}"`)
    return [
      ...declared
        .filter((folder) => !references.includes(folder))
        .map((folder) => ({ file, line: at("references"), rule, message: `lacks a reference to ${folder}` })),
      ...references
        .filter((folder) => !declared.includes(folder))
        .map((folder) => ({ file, line: at(folder), rule, message: `${folder} is not a dependency in package.json` }))
    ]
  })
  const reached = new Set<string>()
  const reach = (file: string): void => {
    for (const folder of referencesOf(repository, file).filter((folder) => !reached.has(folder))) {
      reached.add(folder)
      reach(`${folder}/tsconfig.json`)
    }
  }
  reach("tsconfig.build.json")
  const unbuilt = built
    .filter(({ folder }) => !reached.has(folder))
    .map(({ folder }) => ({ file: "tsconfig.build.json", line: 1, rule, message: `does not reach ${folder}` }))
  return [...perPackage, ...unbuilt]
}
