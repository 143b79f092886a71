import { execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))
const run = promisify(execFile)

interface Instruction {
  readonly name: string
  readonly rest: string
}

/** The instructions of each stage of the Dockerfile, without `FROM`. */
const stages = (): ReadonlyArray<ReadonlyArray<Instruction>> =>
  fs
    .readFileSync(path.join(root, "Dockerfile"), "utf8")
    .split(/^FROM .*$/m)
    .slice(1)
    .map((stage) => [...stage.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = "", rest = ""]) => ({ name, rest })))

/** The program and arguments of an instruction in JSON form, such as `CMD ["node", "main.js"]`. */
const command = (rest: string): ReadonlyArray<string> => JSON.parse(rest.slice(rest.indexOf("[")))

/** What .dockerignore keeps out of the build context, and folders of other checkouts. */
const isInContext = (file: string): boolean =>
  !/(^|\/)(\.git|\.svc|node_modules|dist|[^/]*\.(tsbuildinfo|log))$/.test(file)

/** A copy of the repository as the image's build sees it. */
const buildContext = (folder: string): void =>
  fs.cpSync(root, folder, { recursive: true, filter: (file) => isInContext(path.relative(root, file)) })

describe("the image", () => {
  // Docker is not needed: the steps of the Dockerfile run in a folder, without their users and paths.
  it("is built by its steps, starts with its settings, and is healthy until it is stopped", {
    timeout: 900_000
  }, async () => {
    const [build = [], final = []] = stages()
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "svc-image-"))
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "svc-image-data-"))
    try {
      buildContext(folder)
      const steps = build.filter(({ name }) => name === "RUN")
      expect(steps.map(({ rest }) => rest.split(" ")[0])).toContain("npm")
      // With low priority: tests beside this one keep time.
      for (const { rest } of steps) await run("nice", ["sh", "-ec", rest], { cwd: folder, maxBuffer: 2 ** 26 })
      for (const tool of ["vitest", "typescript", "tsx"]) {
        expect(fs.existsSync(path.join(folder, "node_modules", tool)), tool).toBe(false)
      }

      const settings = final.filter(({ name }) => name === "ENV").map(({ rest }) => rest.split("="))
      expect(Object.fromEntries(settings)).toEqual({
        NODE_ENV: "production",
        SVC_HOST: "0.0.0.0",
        SVC_DATA_DIR: "/data"
      })
      const port = await Effect.runPromise(freePort)
      const part = (name: string) => command(final.find((one) => one.name === name)?.rest ?? "[]")
      const health = part("HEALTHCHECK").map((text) => text.replaceAll("8787", String(port)))
      const isHealthy = () =>
        run(process.execPath, health.slice(1)).then(
          () => true,
          () => false
        )
      const child = spawn(process.execPath, part("CMD").slice(1), {
        cwd: folder,
        env: {
          PATH: process.env["PATH"],
          NODE_ENV: "production",
          SVC_HOST: "127.0.0.1",
          SVC_PORT: String(port),
          SVC_DATA_DIR: data,
          SVC_PLUGINS: "@svc/plugin-simulated"
        },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const exit = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)))
      expect(await isHealthy()).toBe(false)
      await new Promise<void>((resolve, reject) => {
        let output = ""
        child.stdout.on("data", (text) => {
          output += String(text)
          if (output.includes("Svc listens at")) resolve()
        })
        child.on("exit", () => reject(new Error(`it stopped:\n${output}`)))
      })
      expect(await isHealthy()).toBe(true)
      child.kill("SIGTERM")
      expect(await exit).toBe(0)
    } finally {
      fs.rmSync(folder, { recursive: true, force: true })
      fs.rmSync(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    }
  })
})

describe("the systemd unit", () => {
  it("is valid and gives the server the time that it needs to stop", async () => {
    const file = path.join(root, "docs/operations/svc.service")
    const unit = fs.readFileSync(file, "utf8")
    expect(unit).toContain("TimeoutStopSec=40")
    const hasSystemd = await run("systemd-analyze", ["--version"]).then(
      () => true,
      () => false
    )
    if (!hasSystemd) return console.warn("No systemd-analyze: the unit was not verified.")
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "svc-unit-"))
    try {
      // The programs and folders that it names need not exist here.
      const copy = path.join(folder, "svc.service")
      fs.writeFileSync(copy, unit.replaceAll("/usr/bin/node", process.execPath).replaceAll("/opt/svc", folder))
      expect((await run("systemd-analyze", ["verify", copy])).stderr).toBe("")
    } finally {
      fs.rmSync(folder, { recursive: true, force: true })
    }
  })
})
