// Puts a version of Scalar's API reference into apps/server/assets/scalar: the one file of its npm package that browsers
// load, compressed. `npm run scalar -- 1.72.1`. See docs/decisions/0022-scalar-for-the-api-reference.md.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

const [version] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version ?? "")) {
  console.error("scalar: name an exact version: npm run scalar -- 1.72.1")
  process.exit(2)
}
const name = "@scalar/api-reference"
const folder = new URL("../apps/server/assets/scalar/", import.meta.url)
const work = mkdtempSync(join(tmpdir(), "scalar-"))
try {
  // npm checks the integrity that the registry gives; the same one is recorded.
  const [{ filename, integrity }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--pack-destination", work, `${name}@${version}`], { encoding: "utf8" })
  )
  execFileSync("tar", ["xzf", join(work, filename), "-C", work])
  const script = readFileSync(join(work, "package/dist/browser/standalone.js"))
  writeFileSync(new URL("standalone.js.gz", folder), gzipSync(script, { level: 9 }))
  const record = { name, version, integrity, sha256: createHash("sha256").update(script).digest("hex") }
  writeFileSync(new URL("scalar.json", folder), `${JSON.stringify(record, null, 2)}\n`)
  console.log(`scalar: ${name} ${version}, ${script.length} bytes`)
} finally {
  rmSync(work, { recursive: true })
}
