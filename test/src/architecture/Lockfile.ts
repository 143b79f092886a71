import { Schema } from "effect"
import { lineIn, type Manifest, type Repository, Versions } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

const Lock = Schema.Struct({
  packages: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({
      resolved: Schema.optional(Schema.String),
      integrity: Schema.optional(Schema.String),
      link: Schema.optional(Schema.Boolean),
      dev: Schema.optional(Schema.Boolean),
      dependencies: Versions,
      devDependencies: Versions,
      optionalDependencies: Versions,
      peerDependencies: Versions
    })
  })
})

const file = "package-lock.json"
const rule = "lockfile"
const remedy = "run `npm run lock`"
const decode = Schema.decodeUnknownSync(Schema.parseJson(Lock))

const groups = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const

/**
 * The lockfile matches every package.json, has the packages of all platforms, and names only the public registry. Every
 * package of a production install (`npm ci --omit=dev`) has an integrity hash; development tools of other platforms may
 * lack theirs.
 */
export const lockfile = (repository: Repository): ReadonlyArray<Violation> => {
  const text = repository.tree.get(file)
  if (text === undefined) return [{ file, line: 1, rule, message: "is missing" }]
  const { packages } = decode(text)
  const at = (needle: string, message: string): Violation => ({ file, line: lineIn(text, needle), rule, message })
  const names = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf("node_modules/") + 13)))

  const manifests: ReadonlyArray<readonly [string, Manifest]> = [
    ["", repository.root],
    ...repository.workspaces.map(({ folder, manifest }) => [folder, manifest] as const)
  ]
  const outdated = manifests.flatMap(([folder, manifest]) =>
    groups.flatMap((group) => {
      const locked = packages[folder]?.[group] ?? {}
      const declared = manifest[group]
      return [...new Set([...Object.keys(declared), ...Object.keys(locked)])]
        .filter((name) => declared[name] !== locked[name])
        .map((name) => at(`"${folder}": {`, `${name} differs from ${folder || "the root"}'s package.json: ${remedy}`))
    })
  )
  const incomplete = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !names.has(name))
      .map((name) => at(`"${path}": {`, `lacks ${name}, which another platform needs: ${remedy}`))
  )
  const foreign = Object.entries(packages).flatMap(([path, { resolved = "" }]) =>
    /^[a-z+]+:/.test(resolved) && !resolved.startsWith("https://registry.npmjs.org/")
      ? [at(`"${path}": {`, `${resolved} is not on the public registry`)]
      : []
  )
  const unverified = Object.entries(packages).flatMap(([path, { dev = false, integrity, link = false }]) =>
    path.includes("node_modules/") && !link && !dev && integrity === undefined
      ? [at(`"${path}": {`, `${path} has no integrity hash, and production installs it`)]
      : []
  )
  return [...outdated, ...incomplete, ...foreign, ...unverified]
}
