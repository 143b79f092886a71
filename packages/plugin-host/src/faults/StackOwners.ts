import { dirname, join, sep } from "node:path"
import { fileURLToPath } from "node:url"

/** Whose code an error comes from. `Unknown`: its stack has no frame of a plugin and none of ours. */
export type Origin =
  | { readonly _tag: "Plugin"; readonly plugin: string }
  | { readonly _tag: "Server" }
  | { readonly _tag: "Unknown" }

type Owner = { readonly _tag: "Plugin"; readonly plugin: string } | { readonly _tag: "Server" | "Fence" }

/** The folder of this package's modules, sources or compiled. */
const modules = dirname(dirname(fileURLToPath(import.meta.url)))
/** The folder of all packages of the server, which are neighbours in the repository and when they are installed. */
const packages = dirname(dirname(modules))
const fence = join(modules, "fence")
const server: ReadonlyArray<string> = [packages, join(dirname(packages), "apps")]

const isBelow = (path: string, folder: string): boolean => path.startsWith(folder + sep)

/** How many errors of a chain of causes are read: a hostile one may be endless. */
const maxCauses = 5

const fieldOf = (error: unknown, field: "stack" | "cause"): unknown => {
  try {
    return error instanceof Error ? error[field] : undefined
  } catch {
    // A getter of a hostile error.
    return undefined
  }
}

const pathOf = (file: string): string | undefined => {
  try {
    return file.startsWith("file:") ? fileURLToPath(file) : file
  } catch {
    // A URL that is no file of this machine.
    return undefined
  }
}

/** The files of a stack, innermost first. Frames of Node itself have none. */
const filesOf = (error: unknown): ReadonlyArray<string> => {
  const stack = fieldOf(error, "stack")
  if (typeof stack !== "string") return []
  return stack.split("\n").flatMap((line) => {
    const file = /^\s+at (?:.*\()?(?:async )?((?:file:|\/|[A-Za-z]:\\).*?)(?:\?[^:]*)?:\d+:\d+\)?$/.exec(line)?.[1]
    return file === undefined ? [] : (pathOf(file) ?? [])
  })
}

/**
 * Tells by its stack whose code an error comes from. The alternative, an async context that is entered with each call
 * into a plugin, costs every promise of the process, and leaks: fibers of ours that a plugin's callback resumes would
 * run in the plugin's context, and our own faults would be attributed to it.
 */
export class StackOwners {
  /** Files and folders of plugins. */
  readonly #plugins = new Map<string, string>()

  /** `entry` is the plugin's module; `root` its package's folder, or undefined for a single file. */
  add(plugin: string, entry: string, root: string | undefined): void {
    this.#plugins.set(entry, plugin)
    this.#plugins.set(root ?? dirname(entry), plugin)
  }

  /** The most specific file or folder decides: a plugin may be beside or below our packages, or around them. */
  #ownerOf(file: string): Owner | undefined {
    let length = 0
    let owner: Owner | undefined
    for (const [path, plugin] of this.#plugins) {
      if (file !== path && !isBelow(file, path)) continue
      // Dependencies below an installed package are its own; those beside a plugin in a project's folder are shared.
      const shared = file.slice(path.length).includes(`${sep}node_modules${sep}`) && !path.includes("node_modules")
      if (shared || path.length <= length) continue
      length = path.length
      owner = { _tag: "Plugin", plugin }
    }
    for (const folder of server) {
      if (folder.length <= length || !isBelow(file, folder)) continue
      length = folder.length
      owner = { _tag: isBelow(file, fence) ? "Fence" : "Server" }
    }
    return owner
  }

  /**
   * The innermost frame that belongs to somebody decides. When a plugin was called by our code, and not through the fence,
   * which would have caught the error, our code was interrupted: the error counts as ours. (The fence is on the stack of
   * errors that are made during a call and thrown later, as sockets do.)
   */
  originOf(fault: unknown): Origin {
    let error = fault
    for (let depth = 0; depth < maxCauses; depth++) {
      const owners = filesOf(error).flatMap((file) => this.#ownerOf(file) ?? [])
      const innermost = owners[0]
      if (innermost !== undefined) {
        const caller = owners.find(({ _tag }) => _tag !== "Plugin")
        return innermost._tag === "Plugin" && caller?._tag !== "Server" ? innermost : { _tag: "Server" }
      }
      error = fieldOf(error, "cause")
    }
    return { _tag: "Unknown" }
  }
}
