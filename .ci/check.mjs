// Type-checks the repository with the native TypeScript compiler that includes Effect's diagnostics. The compiler is run from
// where npm installed it: nothing in node_modules is patched, so `npm ci --ignore-scripts` is enough.
// @effect/tsgo/lib/getExePath is not used: in 0.45.0 it rejects the manifests of its own platform packages.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)
const typescript = require.resolve("typescript/package.json")
const { version } = JSON.parse(readFileSync(typescript, "utf8"))
const platform = `${process.platform}-${process.arch}`

/** The path of Effect's compiler for the installed TypeScript version, or undefined when this platform has none. */
const effectCompiler = () => {
  try {
    const { resolve } = createRequire(require.resolve("@effect/tsgo/package.json"))
    const folder = dirname(resolve(`@effect/tsgo-${platform}/package.json`))
    const file = join(folder, "artifacts/typescript", version, process.platform === "win32" ? "tsc.exe" : "tsc")
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}

// Not incremental: a build-info file of another compiler would hide Effect's diagnostics.
const args = ["--noEmit", "--incremental", "false", "-p", "tsconfig.json", ...process.argv.slice(2)]
const options = { cwd: root, stdio: "inherit" }
const program = effectCompiler()
if (program === undefined) {
  console.warn(
    `check: no Effect diagnostics, @effect/tsgo has no build of TypeScript ${version} for ${platform}; using plain tsc`
  )
}
const compile = (args) => {
  const { status, error } =
    program === undefined
      ? spawnSync(process.execPath, [join(dirname(typescript), "bin/tsc"), ...args], options)
      : spawnSync(program, args, options)
  if (error) console.error(`check: the compiler did not start: ${error.message}`)
  return status ?? 1
}
// The page of browser calls is JavaScript with types in comments, for another platform than Node.
process.exit(Math.max(compile(args), compile(["-p", "plugins/browser/page"])))
