// vitest's global set-up: builds changed packages, because tests of whole programs start the built ones.
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

export default () => {
  const { status, error } = spawnSync(process.execPath, [compiler, "-b", "tsconfig.build.json"], {
    cwd: root,
    stdio: "inherit"
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error("the build failed")
}
