import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"

const program = fileURLToPath(new URL("./Endless.ts", import.meta.url))

/** How a program ends, and what it wrote to standard error. */
const run = Effect.async<{ readonly signal: string | null; readonly errors: string }>((resume) => {
  const child = spawn(process.execPath, ["--conditions=@svc/source", "--import", "tsx", program], {
    stdio: ["ignore", "ignore", "pipe"]
  })
  let errors = ""
  child.stderr.on("data", (part) => {
    errors += String(part)
  })
  child.once("close", (_, signal) => resume(Effect.succeed({ signal, errors })))
  return Effect.sync(() => child.kill("SIGKILL"))
})

it.live("a process whose main thread never comes back says where it is, and ends", () =>
  Effect.gen(function* () {
    const { errors, signal } = yield* run
    expect(errors).toMatch(/^svc: nothing has run for \d+ s but spin at file:\S+\/Endless\.ts:\d+$/m)
    expect(errors).toMatch(/^svc: nothing has run for \d+ s: the process ends, to be started again$/m)
    expect(signal).toBe("SIGKILL")
  })
)
