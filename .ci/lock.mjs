// Adds the optional packages of other platforms to package-lock.json: npm omits those that its registry does not have, and
// `npm ci` then fails on the other platforms. The parent pins the exact version and the name contains the platform. The
// integrity hash is unknown here, so none is written.
import { readFileSync, writeFileSync } from "node:fs"

const file = new URL("../package-lock.json", import.meta.url)
const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"]
const processors = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"]

const lock = JSON.parse(readFileSync(file, "utf8"))
const { "": root, ...packages } = lock.packages
const names = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf("node_modules/") + 13)))

for (const parent of Object.values(packages)) {
  const siblings = Object.keys(parent.optionalDependencies ?? {})
  for (const name of siblings.filter((name) => !names.has(name))) {
    const version = parent.optionalDependencies[name]
    const words = name.split("/").at(-1).split("-")
    const os = systems.filter((system) => words.includes(system))
    const cpu = processors.filter((processor) => words.includes(processor))
    if (os.length === 0 || cpu.length === 0 || !/^\d+\.\d+\.\d+/.test(version)) {
      console.error(`lock: ${name} ${version} is not in package-lock.json, and its name does not tell a platform`)
      process.exitCode = 1
      continue
    }
    const musl = words.some((word) => word.startsWith("musl"))
    const hasMusl = siblings.some((sibling) => sibling.includes("musl"))
    packages[`node_modules/${name}`] = {
      version,
      cpu,
      ...(parent.dev ? { dev: true } : {}),
      ...(os.includes("linux") && hasMusl ? { libc: [musl ? "musl" : "glibc"] } : {}),
      license: parent.license,
      optional: true,
      os
    }
    console.log(`lock: added ${name} ${version}`)
  }
}

const ordered = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, "en")))
writeFileSync(file, JSON.stringify({ ...lock, packages: { "": root, ...ordered } }, null, 2) + "\n")
