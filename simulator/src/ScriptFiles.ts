import { FileSystem, Path } from "@effect/platform"
import { Effect } from "effect"
import { type InvalidScript, invalid } from "./ScriptProblem.ts"

/** What the names of scripts in a folder end with. */
const extension = /\.ya?ml$/i

/** The most bytes of a script. One of 10,000 steps has less than 1 MB. */
const maxBytes = 5_000_000

const isPattern = (text: string): boolean => /[*?[\]{}]/.test(text)

/** The source of a regular expression for the text between braces or outside of them. */
const sourceOf = (pattern: string): string => {
  let source = ""
  let open = 0
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at)
    const rest = pattern.slice(at)
    if (rest.startsWith("**/")) {
      source += "(?:[^/]+/)*"
      at += 2
    } else if (rest.startsWith("**")) {
      source += ".*"
      at++
    } else if (char === "*") source += "[^/]*"
    else if (char === "?") source += "[^/]"
    else if (char === "{") {
      source += "(?:"
      open++
    } else if (char === "}" && open > 0) {
      source += ")"
      open--
    } else if (char === "," && open > 0) source += "|"
    else if (char === "[") {
      const set = /^\[(!?)([^\]/]+)\]/.exec(rest)
      if (set === null) source += "\\["
      else {
        source += `[${set[1] === "!" ? "^" : ""}${(set[2] ?? "").replace(/[\\^]/g, "\\$&")}]`
        at += set[0].length - 1
      }
    } else source += char.replace(/[.+^$()|\\\]{}]/, "\\$&")
  }
  return source + ")".repeat(open)
}

/** Whether a path matches a pattern of `*`, `**`, `?`, `[abc]` and `{a,b}`. */
export const matches = (pattern: string, path: string): boolean => {
  try {
    return new RegExp(`^${sourceOf(pattern.replace(/^(?:\.\/)+/, ""))}$`, "u").test(path.replace(/^(?:\.\/)+/, ""))
  } catch {
    // Such as [z-a].
    return false
  }
}

/** The part of a pattern before its first folder or name with wildcards. */
const rootOf = (pattern: string): string => {
  const parts = pattern.split("/")
  const first = parts.findIndex(isPattern)
  const root = parts.slice(0, first).join("/")
  return root === "" ? (pattern.startsWith("/") ? "/" : ".") : root
}

/** Files below a folder, by name; those of folders whose name begins with a dot and of node_modules are left out. */
const filesBelow = (folder: string): Effect.Effect<ReadonlyArray<string>, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])
    const found: Array<string> = []
    for (const name of names.toSorted()) {
      if (name.startsWith(".") || name === "node_modules") continue
      const whole = path.join(folder, name)
      const type = yield* Effect.option(fs.stat(whole))
      if (type._tag === "None") continue
      // A link may lead to a folder above.
      const isLink = yield* Effect.isSuccess(fs.readLink(whole))
      if (type.value.type === "Directory") {
        if (!isLink) found.push(...(yield* filesBelow(whole)))
      } else if (type.value.type === "File") found.push(whole)
    }
    return found
  })

/** The scripts that an argument names. */
const expanded = (given: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const type = yield* Effect.option(fs.stat(given))
    if (type._tag === "Some" && type.value.type === "Directory") {
      const files = (yield* filesBelow(given)).filter((file) => extension.test(file))
      return files.length > 0 ? files : yield* invalid("the folder has no scripts (*.yaml or *.yml)", given)
    }
    if (type._tag === "Some") return [given]
    if (!isPattern(given))
      return yield* invalid(`there is no such file or folder (looked for ${path.resolve(given)})`, given)
    const files = (yield* filesBelow(rootOf(given))).filter((file) => matches(given, file))
    return files.length > 0 ? files : yield* invalid("no file matches this pattern", given)
  })

/** The scripts that arguments name: files, folders and patterns. Each once, in the order of the arguments. */
export const expand = (
  given: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, InvalidScript, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const files = (yield* Effect.forEach(given, expanded)).flat()
    const byPath = new Map(files.map((file) => [path.resolve(file), file]))
    return [...byPath.values()]
  })

/** The text of a script. */
export const readText = (file: string): Effect.Effect<string, InvalidScript, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const size = yield* Effect.mapBoth(fs.stat(file), {
      onFailure: () => invalid("the file cannot be read", file),
      onSuccess: (info) => Number(info.size)
    })
    if (size > maxBytes) return yield* invalid(`the file is too large for a script: ${size} bytes`, file)
    const bytes = yield* Effect.mapError(fs.readFile(file), () => invalid("the file cannot be read", file))
    return yield* Effect.try({
      try: () => {
        if (bytes.includes(0)) throw new Error("NUL")
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
      },
      catch: () => invalid("the file is not a text in UTF-8, so it is no script", file)
    })
  })

/** Whether the arguments name one file, whose report is that of one script. */
export const isOneFile = (given: ReadonlyArray<string>, files: ReadonlyArray<string>): boolean =>
  given.length === 1 && files.length === 1 && given[0] === files[0]
