import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Effect, Schedule } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"

const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8")

/** The code block of the README that begins with this line. */
const blockOf = (first: string): string => readme.split("```").find((block) => block.includes(`\n${first}\n`)) ?? ""

/** Runs a server of the README, on another port than the one it names, until the scope ends. */
const run = (program: string, name: string, port: number, secret: string) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "readme-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true }))
    )
    const code = blockOf(name.endsWith("py") ? `# ${name}` : `// ${name}`)
    expect(code.split("\n").length).toBeGreaterThan(25)
    const text = code.slice(code.indexOf("\n") + 1).replace("3000", String(port))
    yield* Effect.sync(() => writeFileSync(join(folder, name), text))
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn(program, [join(folder, name)], { env: { ...process.env, SERVER_SECRET: secret } })),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    // Without a signature it answers 401, as soon as it listens.
    const answer = yield* Effect.tryPromise(() =>
      fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" })
    ).pipe(Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(400))))
    expect(answer.status).toBe(401)
  })

const hasPython = spawnSync("python3", ["--version"]).status === 0
const servers: ReadonlyArray<readonly [program: string, name: string]> = [
  [process.execPath, "server.mjs"],
  ...(hasPython ? [["python3", "server.py"] as const] : [])
]

layer(BlackBox.layer, { excludeTestServices: true, timeout: "60 seconds" })("the servers of the README", (it) => {
  it.scoped.each(servers)("answer calls and run a tool by the words `use <tool> with <json>`: %s", ([program, name]) =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const port = yield* freePort
      const made = yield* api.post("/v1/agents", { name, server_url: `http://127.0.0.1:${port}/` })
      expect(made.status).toBe(201)
      yield* run(program, name, port, textAt(made.body, "server_secret"))
      const session = yield* api.post("/v1/test-sessions", { agent_id: textAt(made.body, "agent.public_id") })
      expect([session.status, at(session.body, "test_session.messages.0.content")]).toEqual([201, "Good morning!"])
      const path = `/v1/test-sessions/${textAt(session.body, "test_session.id")}/message`
      const said = (content: string) =>
        Effect.map(api.post(path, { content }), ({ body }) => JSON.stringify(at(body, "messages")))
      expect(yield* said("Hello")).toContain("You said: Hello")
      expect(yield* said(`use find_free_slots with {"day": "Friday"}`)).toContain("Free on Friday: 9:00 and 10:30.")
      yield* api.request("DELETE", path.replace("/message", ""))
    })
  )
})
