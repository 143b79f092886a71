import { readFileSync, statSync } from "node:fs"
import { dirname, isAbsolute, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Option, Schema } from "effect"

/**
 * Resolves a package name or path to a module. Node's `import` searches only from the importing file upwards; a plugin
 * is installed beside the operator's configuration, so the search starts in the working directory and continues from
 * this package.
 */

const Manifest = Schema.parseJson(
  Schema.Struct({ main: Schema.optional(Schema.String), exports: Schema.optional(Schema.Unknown) })
)
const decodeManifest = Schema.decodeUnknownOption(Manifest)

/** The import conditions of a process: Node's own, and those given with `--conditions` or `-C`. */
const conditionsIn = (flags: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set([
    "node",
    "import",
    "module-sync",
    "default",
    ...flags.flatMap((flag, index) => {
      const given = /^(?:--conditions|-C)(?:=(.*))?$/.exec(flag)
      return given === null ? [] : [given[1] ?? flags[index + 1] ?? ""]
    })
  ])

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** The target of an `exports` entry. The first matching condition wins, as in Node's algorithm. */
const target = (entry: unknown, conditions: ReadonlySet<string>): string | undefined => {
  if (typeof entry === "string") return entry
  if (Array.isArray(entry)) {
    return entry.map((one) => target(one, conditions)).find((found) => found !== undefined)
  }
  if (typeof entry !== "object" || entry === null) return undefined
  for (const [condition, value] of Object.entries(entry)) {
    if (!conditions.has(condition)) continue
    const found = target(value, conditions)
    if (found !== undefined) return found
  }
  return undefined
}

const subpathTarget = (exports: unknown, subpath: string, conditions: ReadonlySet<string>): string | undefined => {
  const named =
    typeof exports === "object" && exports !== null && !Array.isArray(exports) ? Object.entries(exports) : []
  if (!named.some(([key]) => key.startsWith("."))) return subpath === "." ? target(exports, conditions) : undefined
  const exact = named.find(([key]) => key === subpath)
  if (exact !== undefined) return target(exact[1], conditions)
  for (const [key, value] of named) {
    const star = key.indexOf("*")
    if (star < 0) continue
    const [before, after] = [key.slice(0, star), key.slice(star + 1)]
    if (subpath.length < key.length || !subpath.startsWith(before) || !subpath.endsWith(after)) continue
    return target(value, conditions)?.replaceAll("*", subpath.slice(before.length, subpath.length - after.length))
  }
  return undefined
}

/** The file of a package in `directory`; `subpath` is `.` or starts with `./`. */
const packageEntry = (directory: string, subpath: string, conditions: ReadonlySet<string>): string | undefined => {
  const path = join(directory, "package.json")
  const manifest = isFile(path) ? Option.getOrUndefined(decodeManifest(readFileSync(path, "utf8"))) : undefined
  if (manifest?.exports !== undefined) {
    const found = subpathTarget(manifest.exports, subpath, conditions)
    return found === undefined ? undefined : join(directory, found)
  }
  if (subpath === "." && manifest?.main !== undefined) return join(directory, manifest.main)
  const file = join(directory, subpath === "." ? "index.js" : subpath)
  return isFile(file) ? file : undefined
}

/** `start` and every directory above it. */
const upwards = (start: string): ReadonlyArray<string> => {
  const above = dirname(start)
  return above === start ? [start] : [start, ...upwards(above)]
}

/** The URL of the file, or why it was not found (part of a sentence). */
export type EntryPoint = { readonly url: string } | { readonly missing: string }

/** What a compiler writes, and so is missing before it has run. */
const isCompiled = (path: string): boolean => path.split(/[\\/]/).includes("dist")

const found = (path: string): EntryPoint =>
  isFile(path)
    ? { url: pathToFileURL(path).href }
    : { missing: `its entry file ${path} does not exist${isCompiled(path) ? "; compile it first (npx tsc)" : ""}` }

const isPath = (source: string): boolean => source.startsWith(".") || source.startsWith("file:") || isAbsolute(source)

/** The folder of the package to which an entry file belongs; undefined when `source` names the file itself. */
export const packageOf = (source: string, directory: string, file: string): string | undefined => {
  if (isPath(source) && isFile(source.startsWith("file:") ? fileURLToPath(source) : resolve(directory, source))) {
    return undefined
  }
  return upwards(dirname(file)).find((folder) => isFile(join(folder, "package.json")))
}

/** The folders in which a package may be installed, the nearest to `directory` first. */
const installed = (directory: string, name: string): ReadonlyArray<string> =>
  [directory, dirname(fileURLToPath(import.meta.url))]
    .flatMap(upwards)
    .map((folder) => join(folder, "node_modules", name))
    .filter(isDirectory)

/** What to do about a package that is not installed: many write the short name of one of ours. */
const advice = (name: string, directory: string): string => {
  const ours = `@svc/plugin-${name}`
  return /^[a-z][a-z0-9-]*$/.test(name) && installed(directory, ours).length > 0
    ? `the package of this name is ${ours}`
    : "is its name in SVC_PLUGINS right, and has it been installed?"
}

/**
 * Finds the entry file of a plugin. A path is relative to `directory` and names a file or a package's folder. `flags`
 * are the Node flags of this process.
 */
export const entryPoint = (source: string, directory: string, flags: ReadonlyArray<string>): EntryPoint => {
  const conditions = conditionsIn(flags)
  if (isPath(source)) {
    const path = source.startsWith("file:") ? fileURLToPath(source) : resolve(directory, source)
    if (isFile(path)) return found(path)
    if (!isDirectory(path)) return { missing: `there is no file or folder ${path}` }
    const entry = packageEntry(path, ".", conditions)
    return entry === undefined ? { missing: `the package in ${path} has no entry that can be imported` } : found(entry)
  }
  const parts = source.split("/")
  const length = source.startsWith("@") ? 2 : 1
  const [name, rest] = [parts.slice(0, length).join("/"), parts.slice(length).join("/")]
  const [path] = installed(directory, name)
  if (path === undefined) {
    return { missing: `no such package is installed (looked from ${directory} upwards); ${advice(source, directory)}` }
  }
  const entry = packageEntry(path, rest === "" ? "." : `./${rest}`, conditions)
  return entry === undefined ? { missing: `the package in ${path} has no entry that can be imported` } : found(entry)
}
