import { realpathSync } from "node:fs"
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
  const own = (name: string) => owners.add(name, file, packageOf(source, directory, file))
  // Its name is known once it is imported.
  own(source)
  const exports: unknown = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(file).href) as Promise<unknown>,
    catch: (cause) => fail(`its module failed to load: ${errorSummary(cause)}${hintFor(cause)}`)
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
