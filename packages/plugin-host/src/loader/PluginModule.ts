import { realpathSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { contractVersion, isPlugin, type Plugin, PluginError } from "@svc/providers/Plugin"
import { Config, Duration, Effect } from "effect"
import satisfies from "semver/functions/satisfies.js"
import validRange from "semver/ranges/valid.js"
import { errorSummary } from "../ErrorSummary.ts"
import { PluginFaults } from "../faults/PluginFaults.ts"
import { entryPoint, packageOf } from "./EntryPoint.ts"

/** A plugin whose module was imported and validated, but not started. */
export interface ImportedPlugin {
  readonly plugin: Plugin
  readonly source: string
}

const namePattern = /^[a-z][a-z0-9-]*$/

/**
 * What is wrong with the plugin that a module exports, if anything. It may be plain JavaScript, so its types are
 * checked.
 */
const problem = (plugin: Plugin): string | undefined => {
  const { name, apiVersion, provides } = plugin
  if (typeof name !== "string" || !namePattern.test(name)) {
    return `its name ${JSON.stringify(name)} must be lower-case letters, digits and dashes`
  }
  if (typeof provides !== "function") return "its `provides` must be a function"
  if (typeof apiVersion !== "string" || validRange(apiVersion) === null) {
    return `its apiVersion ${JSON.stringify(apiVersion)} is not a semver range`
  }
  if (!satisfies(contractVersion, apiVersion)) {
    return `it is written for version ${apiVersion} of the plugin contract, but this server has ${contractVersion}; ${remedy(apiVersion)}`
  }
  return undefined
}

/** What to do about a plugin of another version. */
const remedy = (apiVersion: string): string =>
  satisfies("1.0.0", apiVersion)
    ? 'install a version of the plugin that fits, or change it as docs/plugins.md, "From 1 to 2", says'
    : "install a version of the plugin that fits"

/** A plugin imports the contract from where it is itself, not from the server. */
const hintFor = (cause: unknown): string =>
  cause instanceof Error && /^Cannot find package '(@svc\/providers|effect)'/.test(cause.message)
    ? '; install it in the plugin\'s folder: see docs/plugins.md, "Start a plugin"'
    : ""

/** A place in a stack: a path or file URL and its line. Those of Node's own modules begin with `node:`. */
const placePattern = /(?:^|\(|\s)(?:file:\/\/)?((?:\/|[A-Za-z]:[\\/])[^\s():]+):(\d+)/

/**
 * Where a module failed, as ` (file:line)`: the first place of the stack in the plugin's own files, else in those of its
 * packages. Node's error of a wrong syntax has no place. Empty when there is none.
 */
const placeOf = (cause: unknown, folder: string, file: string): string => {
  try {
    const stack = cause instanceof Error && typeof cause.stack === "string" ? cause.stack : ""
    const places = stack
      .slice(0, 10_000)
      .split("\n")
      .filter((row) => /^\s+at |^file:/.test(row))
      .flatMap((row) => {
        const [, path = "", line = ""] = placePattern.exec(row) ?? []
        return path.startsWith(folder) ? [{ path: decodeURI(path), line }] : []
      })
    const place = places.find(({ path }) => !path.slice(folder.length).includes("node_modules")) ?? places[0]
    if (place !== undefined) return ` (${place.path}:${place.line})`
    return cause instanceof SyntaxError ? `; node --check ${file} shows the line, if it is in this file` : ""
  } catch {
    // Its getters throw, or its stack is no text.
    return ""
  }
}

/** Why a module did not load. A compiler's error names the place in its second line. */
const loadFailure = (cause: unknown, folder: string, file: string): string => {
  const summary = errorSummary(cause)
  const [, second] = summary.endsWith("error:") && cause instanceof Error ? cause.message.split("\n") : []
  return second === undefined
    ? `${summary}${placeOf(cause, folder, file)}`
    : `${summary} ${errorSummary(new Error(second))}`
}

/** Imports a plugin by package name or path and validates it against this version of the contract. */
export const importPlugin = Effect.fn("PluginModule.import")(function* (
  source: string,
  directory: string,
  deadline: Duration.Duration
) {
  const fail = (reason: string) => new PluginError({ plugin: source, reason })
  const nodeOptions = yield* Effect.orElseSucceed(Config.string("NODE_OPTIONS"), () => "")
  const entry = yield* Effect.try({
    try: () => entryPoint(source, directory, [...nodeOptions.split(/\s+/), ...process.execArgv]),
    catch: (cause) => fail(`cannot be looked up: ${errorSummary(cause)}`)
  })
  if ("missing" in entry) return yield* fail(`not found: ${entry.missing}`)

  // The real path, so that a linked package is one module even when it is imported through several paths.
  const file = realpathSync(fileURLToPath(entry.url))
  const { owners } = yield* PluginFaults
  const folder = packageOf(source, directory, file)
  const own = (name: string) => owners.add(name, file, folder)
  // Its name is known once it is imported.
  own(source)
  const exports: unknown = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(file).href) as Promise<unknown>,
    catch: (cause) =>
      fail(`its module failed to load: ${loadFailure(cause, folder ?? dirname(file), file)}${hintFor(cause)}`)
  }).pipe(
    Effect.timeoutFail({
      duration: deadline,
      onTimeout: () => fail(`its module did not load within ${Duration.format(deadline)}`)
    })
  )
  const plugin = typeof exports === "object" && exports !== null && "default" in exports ? exports.default : undefined
  if (!isPlugin(plugin)) {
    return yield* fail("is not a plugin: its default export must be made with Plugin.make of @svc/providers/Plugin")
  }
  const wrong = problem(plugin)
  if (wrong !== undefined) return yield* fail(wrong)
  own(plugin.name)
  return { plugin, source } satisfies ImportedPlugin
})
