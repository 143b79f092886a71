import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { isRoot, nobody, runAs } from "../src/embedded/Account.ts"
import * as Binaries from "../src/embedded/Binaries.ts"

const account = isRoot() ? nobody : undefined

/** A copy of the installed programs in a new folder, as npm unpacks them without install scripts. */
const unpacked = Effect.gen(function* () {
  const { native, version } = yield* Binaries.installed
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-binaries-"))),
    (folder) =>
      Effect.sync(() => {
        fs.chmodSync(folder, 0o755)
        for (const closed of ["home", "home/native/lib"]) {
          if (fs.existsSync(path.join(folder, closed))) fs.chmodSync(path.join(folder, closed), 0o755)
        }
        fs.rmSync(folder, { recursive: true, force: true })
      })
  )
  fs.chmodSync(folder, 0o755)
  const home = path.join(folder, "home")
  const from = { native: path.join(home, "native"), version }
  fs.cpSync(native, from.native, { recursive: true, filter: (file) => !fs.lstatSync(file).isSymbolicLink() })
  return { folder, home, from }
})

const version = ({ postgres }: Binaries.Binaries) => runAs(account, postgres, ["--version"], "/")

describe("Binaries", () => {
  it.scopedLive("programs unpacked without install scripts run in place", () =>
    Effect.gen(function* () {
      const { folder, from } = yield* unpacked
      const found = yield* Binaries.runnable(from, account, [path.join(folder, "cache")])
      expect(found.postgres).toBe(path.join(from.native, "bin", "postgres"))
      expect(yield* version(found)).toContain("PostgreSQL) 18")
      expect(fs.existsSync(path.join(folder, "cache"))).toBe(false)
    })
  )

  it.scopedLive("programs in an unreadable or read-only folder are copied once, and the copy is reused", () =>
    Effect.gen(function* () {
      const { folder, from, home } = yield* unpacked
      if (isRoot()) fs.chmodSync(home, 0o700)
      else fs.chmodSync(path.join(from.native, "lib"), 0o555)
      const places = [path.join(folder, "cache")]
      if (!isRoot()) fs.mkdirSync(path.join(folder, "cache"))
      const copies = yield* Effect.all(
        [Binaries.runnable(from, account, places), Binaries.runnable(from, account, places)],
        { concurrency: 1 }
      )
      expect(new Set(copies.map((one) => one.postgres)).size).toBe(1)
      for (const one of copies) expect(yield* version(one)).toContain("PostgreSQL) 18")
      expect(fs.readdirSync(path.join(folder, "cache"))).toHaveLength(1)
      expect(fs.statSync(home).mode & 0o777).toBe(isRoot() ? 0o700 : 0o755)
    })
  )

  it.scopedLive("programs that do not run anywhere fail with one line that names SVC_DATABASE_URL", () =>
    Effect.gen(function* () {
      const { folder, from } = yield* unpacked
      fs.writeFileSync(path.join(from.native, "bin", "postgres"), "#!/nowhere/at/all\n")
      const error = yield* Effect.flip(Binaries.runnable(from, account, [path.join(folder, "cache")]))
      expect(error.message).toMatch(/^The embedded PostgreSQL does not run on this system: .*SVC_DATABASE_URL/)
      expect(error.message).not.toContain("\n")
    })
  )
})
