import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The files that the rules read: path from the root, with `/`, to content. */
export type SourceTree = ReadonlyMap<string, string>

const skippedFolders = new Set(["node_modules", "dist", ".git", ".svc"])
const wanted = (name: string) =>
  /\.(tsx?|mjs|md|ya?ml)$/.test(name) || /^(package|package-lock|tsconfig.*)\.json$/.test(name)

/** Reads the sources, documents and manifests under `root`; nothing that is built or installed. */
export const readSourceTree = (root: string): SourceTree => {
  const tree = new Map<string, string>()
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name)) visit(path)
      } else if (wanted(entry.name)) {
        tree.set(path, readFileSync(join(root, path), "utf8"))
      }
    }
  }
  visit("")
  return tree
}
