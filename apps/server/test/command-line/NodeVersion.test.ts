import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = new URL("../../../../", import.meta.url)
const file = fileURLToPath(new URL("apps/server/node-version.cjs", root))
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

/** Loads the check in a process that says it is another version. */
const underNode = (version: string) => {
  const code = `Object.defineProperty(process, "versions", { value: { node: ${JSON.stringify(version)} } }); require(${JSON.stringify(file)})`
  const { status, stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8" })
  return { status, stderr }
}

describe("the check of the Node.js version", () => {
  it.each(["18.20.8", "20.18.9", "4.9.1"])("refuses %s in one line", (version) => {
    const stderr = `svc: Node.js ${version} is too old: install Node.js 24, or at least 20.19.0\n`
    expect(underNode(version)).toEqual({ status: 1, stderr })
  })

  it.each(["20.19.0", "20.20.1", "22.0.0", "24.1.0"])("accepts %s", (version) => {
    expect(underNode(version)).toEqual({ status: 0, stderr: "" })
  })

  it("is run before every command, by npm and by the installed program", () => {
    const { engines, scripts } = JSON.parse(read("package.json"))
    for (const name of ["start", "svc", "demo", "simulate", "test", "build"]) {
      expect(scripts[`pre${name}`], name).toBe("node apps/server/node-version.cjs")
    }
    expect(JSON.parse(read("apps/server/package.json")).engines).toEqual(engines)
    // An import statement would read the whole program before the check.
    expect(read("apps/server/src/main.ts").match(/^import .*$/gm)).toEqual(['import "../node-version.cjs"'])
  })
})
