import { Schema } from "effect"
import { readSourceFile, type SourceFile } from "./SourceFile.ts"
import type { SourceTree } from "./SourceTree.ts"

/** A group of dependencies in a manifest or a lockfile: name to version. */
export const Versions = Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
  default: () => ({})
})

/** The part of a package.json that the rules read. */
export const Manifest = Schema.Struct({
  name: Schema.String,
  version: Schema.optional(Schema.String),
  workspaces: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  dependencies: Versions,
  devDependencies: Versions,
  optionalDependencies: Versions,
  peerDependencies: Versions
})
export type Manifest = typeof Manifest.Type

const decodeManifest = Schema.decodeUnknownSync(Schema.parseJson(Manifest))

/** `source` is what other packages and users run; `test` is everything else in the workspace. */
export interface WorkspaceFile extends SourceFile {
  readonly area: "source" | "test"
}

/** One npm workspace: its folder, its manifest and its TypeScript files. */
export interface Workspace {
  readonly folder: string
  readonly manifest: Manifest
  readonly files: ReadonlyArray<WorkspaceFile>
}

/** What the rules check. */
export interface Repository {
  readonly tree: SourceTree
  readonly root: Manifest
  readonly workspaces: ReadonlyArray<Workspace>
}

const matches = (pattern: string, folder: string) =>
  pattern.endsWith("/*")
    ? folder.startsWith(pattern.slice(0, -1)) && !folder.slice(pattern.length - 1).includes("/")
    : folder === pattern

/** Parses every file of every workspace that the root manifest names. */
export const readRepository = (tree: SourceTree): Repository => {
  const root = decodeManifest(tree.get("package.json") ?? "{}")
  const workspaces = [...tree.keys()]
    .filter((path) => path.endsWith("/package.json"))
    .map((path) => path.slice(0, -"/package.json".length))
    .filter((folder) => root.workspaces.some((pattern) => matches(pattern, folder)))
    .toSorted()
    .map((folder) => ({
      folder,
      manifest: decodeManifest(tree.get(`${folder}/package.json`)),
      files: filesOf(tree, folder)
    }))
  return { tree, root, workspaces }
}

const filesOf = (tree: SourceTree, folder: string): ReadonlyArray<WorkspaceFile> =>
  [...tree]
    .filter(([path]) => path.startsWith(`${folder}/`) && /\.tsx?$/.test(path))
    .map(([path, text]) => ({
      ...readSourceFile(path, text),
      area: path.startsWith(`${folder}/src/`) ? "source" : "test"
    }))

/** The package of a bare specifier (`@effect/sql/SqlClient` → `@effect/sql`), or undefined for paths and Node's own. */
export const packageOf = (specifier: string): string | undefined => {
  if (/^(\.|\/|#|node:)/.test(specifier)) return undefined
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")
}

/** The line of the first `needle` in `text`, counted from 1. */
export const lineIn = (text: string | undefined, needle: string): number => {
  const index = text?.indexOf(needle) ?? -1
  return index < 0 ? 1 : (text ?? "").slice(0, index).split("\n").length
}

/** The file that a relative specifier names, as a path from the root. */
export const resolveFrom = (path: string, specifier: string): string => {
  const parts = path.split("/").slice(0, -1)
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== ".") parts.push(part)
  }
  return parts.join("/")
}
