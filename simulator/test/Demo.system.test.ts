import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

const fromSources = ["--conditions=@svc/source", "--import", "tsx", "simulator/src/demo/main.ts"]

const built = ["simulator/dist/demo/main.js"]

/** The process id of the server that this demo started. */
const serverOf = (demo: number | undefined): number => {
  const server = readdirSync("/proc").find((entry) => {
    try {
      const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${entry}/status`, "utf8"))?.[1]
      return parent === String(demo) && readFileSync(`/proc/${entry}/cmdline`, "utf8").includes("\0serve\0")
    } catch {
      // It is no process, or has just ended.
      return false
    }
  })
  if (server === undefined) throw new Error("the demo has no server")
  return Number(server)
}

/** Runs the demo without a terminal and with its own folder for temporary files. */
const demo = (args: ReadonlyArray<string>, program = process.execPath) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-demo-test-"))
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  const listeners: Array<() => void> = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += String(data)
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)))
  return {
    child,
    ended,
    /** The address of its server, once it is ready. */
    url: () => /ready at (\S+)/.exec(output)?.[1] ?? "",
    output: () => output,
    prints: (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => (output.includes(text) ? resolve() : undefined)
        listeners.push(look)
        look()
      }),
    /** Removes the folder for temporary files and returns the files that were left in it. */
    leftovers: () => {
      const left = readdirSync(folder).filter((name) => name.startsWith("svc-demo-"))
      rmSync(folder, { recursive: true, force: true })
      return left
    }
  }
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    () => true,
    () => false
  )

describe("the demo with arguments", () => {
  it.each([
    [["--help"], 0, fromSources],
    [["--to", "+15550100100"], 2, built],
    [["--voice", "nobody"], 2, built],
    [["more"], 2, built]
  ] as const)("%j says what it is, and starts nothing", async (args, code, program) => {
    const run = demo([...program, ...args])
    expect(await run.ended).toBe(code)
    expect(run.output()).toContain("It takes no arguments")
    expect(run.output()).not.toContain("Starting a server")
    expect(run.leftovers()).toEqual([])
  })
})

describe("the demo without a terminal", () => {
  it("plays all example calls, exits with 0 and leaves no files behind", { timeout: 120_000 }, async () => {
    const run = demo(fromSources)
    expect(await run.ended, run.output()).toBe(0)
    for (const part of [
      "agent   Bright Smile, hello!",
      'find_free_slots({"day":"Friday"})',
      "agent   Booked: Friday 10:30, Ada.",
      "tools_called  find_free_slots, book_appointment, end_call",
      "Latency per turn",
      "ok: Book an appointment went as expected",
      "agent   We are open nine to five. Anything else?",
      "ok: Choose from a menu went as expected",
      "ok: Transfer to the reception went as expected",
      "ok: The agent calls went as expected"
    ]) {
      expect(run.output()).toContain(part)
    }
    expect(run.leftovers()).toEqual([])
  })

  it("removes its files and stops its server when it is interrupted during a call", { timeout: 120_000 }, async () => {
    const run = demo(built)
    await run.prints("agent   Bright Smile, hello!")
    run.child.kill("SIGINT")
    expect(await run.ended).toBe(130)
    expect(await answers(run.url())).toBe(false)
    expect(run.leftovers()).toEqual([])
  })

  it("ends with its server, without an error, when nobody reads its output any more", {
    timeout: 120_000
  }, async () => {
    const run = demo(built)
    await run.prints("ready at")
    run.child.stdout.destroy()
    expect(await run.ended).toBe(141)
    expect(run.output()).not.toContain("Error")
    expect(await answers(run.url())).toBe(false)
    expect(run.leftovers()).toEqual([])
  })

  it("ends with its server when the process that started it is killed", { timeout: 120_000 }, async () => {
    const run = demo(["-c", `"${process.execPath}" ${built.join(" ")}; true`], "/bin/sh")
    await run.prints("ready at")
    run.child.kill("SIGKILL")
    await run.ended
    expect(await answers(run.url())).toBe(false)
    expect(run.leftovers()).toEqual([])
  })

  it("ends when the process that started it has ended before the program was loaded", () => {
    const program =
      "import { endWithSurroundings } from './simulator/src/ExitCode.ts'\nendWithSurroundings(process.ppid + 1)\nsetInterval(() => {}, 1000)"
    const args = ["--conditions=@svc/source", "--import", "tsx", "--input-type=module", "--eval", program]
    const { signal, stderr } = spawnSync(process.execPath, args, { cwd: root, timeout: 60_000, killSignal: "SIGKILL" })
    expect(signal, String(stderr)).toBe("SIGTERM")
  })

  it("leaves no server behind when it is killed", { timeout: 120_000 }, async () => {
    const run = demo(built)
    await run.prints("ready at")
    run.child.kill("SIGKILL")
    await run.ended
    await expect.poll(() => answers(run.url()), { timeout: 30_000 }).toBe(false)
    // Nobody is left to remove the folder.
    expect(run.leftovers()).toHaveLength(1)
  })

  it("says that it is over when its server is killed", { timeout: 120_000 }, async () => {
    const run = demo(built)
    await run.prints("ready at")
    process.kill(serverOf(run.child.pid), "SIGKILL")
    expect(await run.ended).toBe(1)
    expect(run.output()).toContain("The demo is over: its server stopped (a signal). Start it again with npm run demo")
    run.leftovers()
  })
})
