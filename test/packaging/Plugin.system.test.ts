import { execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import { createServer } from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify, stripVTControlCharacters } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Redacted } from "effect"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const guide = fs.readFileSync(path.join(root, "docs/plugins.md"), "utf8")

/** The code block of the page that contains this text. */
const block = (text: string): string => {
  const found = [...guide.matchAll(/^```\w+\n(.*?)^```$/gms)]
    .map(([, code = ""]) => code)
    .find((code) => code.includes(text))
  if (found === undefined) throw new Error(`docs/plugins.md has no code with ${text}`)
  return found
}

/**
 * Runs a shell command of the page, with `home` as `~`. npm keeps its cache and settings. The command has low priority: tests
 * beside this one keep time.
 */
const shell = (home: string, cwd: string, command: string) =>
  Effect.promise(async () => {
    const config = async (name: string) =>
      (await promisify(execFile)("npm", ["config", "get", name], { cwd: root })).stdout.trim()
    const env = {
      ...process.env,
      npm_config_cache: await config("cache"),
      npm_config_userconfig: await config("userconfig"),
      npm_config_prefer_offline: "true",
      HOME: home
    }
    const { stdout } = await promisify(execFile)("nice", ["sh", "-ec", command], { cwd, env, maxBuffer: 2 ** 24 })
    return stripVTControlCharacters(stdout)
  })

const temporaryHome = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-plugin-author-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
)

/** The server of the vendor that the plugin of the page speaks to. */
const vendor = Effect.acquireRelease(
  Effect.async<ReturnType<typeof createServer>>((resume) => {
    const server = createServer((_, response) => response.end('{"text":"The house answers."}'))
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close().closeAllConnections())
).pipe(
  Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`
  })
)

/** Starts the vendor of the page, at a free port, and returns its address. */
const printedVendor = (home: string, code: string) =>
  Effect.gen(function* () {
    const free = yield* Effect.scoped(vendor)
    const file = path.join(home, "vendor.mjs")
    fs.writeFileSync(file, code.replace("9000", new URL(free).port))
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [file], { stdio: "ignore" })),
      (child) => Effect.sync(() => child.kill())
    )
    yield* eventually(
      "the vendor",
      Effect.promise(() =>
        fetch(free, { method: "POST" })
          .then(({ status }) => status)
          .catch(() => 0)
      ),
      (status) => status === 200
    )
    return free
  })

/** Plays a scripted call with the simulator to a server with these plugins. */
const simulatedCall = (home: string, plugin: string, expected: string, url = vendor) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* ServerProcess.start({
        data: { url: yield* TestDatabase.freshUrl },
        keys: yield* ServerProcess.newKeys,
        env: {
          SVC_PLUGINS: `${plugin},@svc/plugin-simulated`,
          SVC_HOUSE_URL: yield* url,
          SVC_HOUSE_API_KEY: "secret",
          SVC_HEARING_URL: yield* url,
          SVC_HEARING_API_KEY: "secret"
        }
      })
      const line = yield* Line.open(server, () => ({ json: { system_prompt: "Answer.", first_message: "Hello." } }))
      const script = path.join(home, "call.yaml")
      const steps = ["expect: hello", "say: Anybody there?", `expect: ${expected}`, "hangup:"]
      fs.writeFileSync(script, `name: Call\nsteps:\n${steps.map((step) => `  - ${step}\n`).join("")}`)
      const env = { SVC_URL: server.url, SVC_KEY: Redacted.value(server.keys.project), PATH: process.env["PATH"] }
      const args = ["simulator/dist/main.js", "--to", line.number, "--script", script]
      const { stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, args, { cwd: root, env }))
      return stdout
    })
  )

describe("a plugin outside of the checkout", () => {
  it.scopedLive(
    "is packed, installed, compiled, tested and loaded as docs/plugins.md says, in TypeScript and in JavaScript",
    () =>
      Effect.gen(function* () {
        const home = yield* temporaryHome
        const house = path.join(home, "house")
        for (const folder of [path.join(house, "src"), path.join(house, "test")])
          fs.mkdirSync(folder, { recursive: true })
        const write = (file: string, text: string) => fs.writeFileSync(path.join(house, file), block(text))

        // The checkout is built when this test runs.
        const [build = "", pack = ""] = block("npm pack -w @svc/providers").trim().split("\n")
        expect(build).toBe("npm ci && npm run build")
        yield* shell(home, root, pack)
        write("package.json", '"svc-plugin-house"')
        write("tsconfig.json", '"compilerOptions"')
        write("src/HouseModel.ts", "House.generate")
        write("test/HouseModel.test.ts", "languageModelSuite({")
        write("echo.mjs", "// echo.mjs")
        yield* shell(home, house, block("npm install --save-dev"))
        yield* shell(home, house, block("npx tsc"))
        expect(yield* shell(home, house, "npx vitest run 2>&1")).toMatch(/Tests {2}13 passed/)

        // Loaded from the folder, from the file, and as an installed package.
        expect(yield* simulatedCall(home, house, "the house answers")).toContain("ok: Call went as expected")
        const echo = path.join(house, "echo.mjs")
        expect(yield* simulatedCall(home, echo, "i heard")).toContain("ok: Call went as expected")
        yield* shell(home, house, "npm pack")
        yield* shell(home, home, block("~/house/svc-plugin-house-1.0.0.tgz"))
        const installed = path.join(home, "plugins/node_modules/svc-plugin-house")
        expect(fs.existsSync(path.join(installed, "src"))).toBe(false)
        expect(yield* simulatedCall(home, installed, "the house answers")).toContain("ok: Call went as expected")
      }),
    { timeout: 240_000 }
  )

  it.scopedLive(
    "that begins with the template is tested, checked and hears a caller, as docs/plugins.md says",
    () =>
      Effect.gen(function* () {
        const home = yield* temporaryHome
        const [, pack = ""] = block("npm pack -w @svc/providers").trim().split("\n")
        yield* shell(home, root, pack)
        yield* shell(home, root, block("cp -r docs/plugin-template"))
        const hearing = path.join(home, "hearing")
        yield* shell(home, hearing, block("npm install --save-dev"))
        expect(yield* shell(home, hearing, `${block("npx tsc && npx vitest run").trim()} 2>&1`)).toMatch(
          /Tests {2}15 passed/
        )
        const url = yield* printedVendor(home, block("// vendor.mjs"))
        const env = { SVC_PLUGINS: hearing, SVC_HEARING_URL: url, SVC_HEARING_API_KEY: "secret" }
        const checked = yield* SvcProcess.run(["plugins", "check", "hearing"], env)
        expect(checked.output).toMatch(/^ok {2}speech-to-text .+ heard "Is anybody there\?"/m)
        expect(checked.code).toBe(0)
        const said = yield* simulatedCall(home, hearing, "is anybody there", Effect.succeed(url))
        expect(said).toContain("ok: Call went as expected")
      }),
    { timeout: 240_000 }
  )

  it.scopedLive("that lies where the contract is not installed is refused with what to do", () =>
    Effect.gen(function* () {
      const home = yield* temporaryHome
      const file = path.join(home, "echo.mjs")
      fs.writeFileSync(file, block("// echo.mjs"))
      const url = Redacted.value(yield* TestDatabase.freshUrl)
      const ended = yield* SvcProcess.run(["serve"], { SVC_PLUGINS: file, SVC_DATABASE_URL: url, SVC_PORT: "0" })
      expect(ended.code).toBe(1)
      expect(ended.errors).toContain(
        `svc: plugin ${file}: its module failed to load: Cannot find package '@svc/providers'`
      )
      expect(ended.errors).toContain('install it in the plugin\'s folder: see docs/plugins.md, "Start a plugin"')
    })
  )
})
