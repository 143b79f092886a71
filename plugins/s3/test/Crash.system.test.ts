import { spawn } from "node:child_process"
import { readdir } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { emulatedS3, hang, type Phase } from "./EmulatedS3.ts"
import { mega, settingsAt, soundOf, storeIn, temporaryFolder } from "./Provided.ts"

const program = fileURLToPath(new URL("./fixtures/Writer.ts", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url))
const key = "recordings/call_1.mp3"

/** Where a process dies: at a request to the store, in a phase of it. `least`: megabytes that the call had by then. */
const points: ReadonlyArray<{
  readonly name: string
  readonly at: RegExp
  readonly phase: Phase
  readonly megabytes: number
  readonly least: number
}> = [
  { name: "when an upload was created and not noted", at: /^POST \S+ uploads/, phase: "done", megabytes: 12, least: 5 },
  { name: "in mid-part", at: /^PUT \S+ partNumber=2/, phase: "head", megabytes: 12, least: 10 },
  { name: "between two parts", at: /^PUT \S+ partNumber=1/, phase: "done", megabytes: 12, least: 5 },
  { name: "before the completion", at: /^POST \S+ uploadId/, phase: "head", megabytes: 12, least: 12 },
  {
    name: "after the completion, before its answer",
    at: /^POST \S+ uploadId/,
    phase: "done",
    megabytes: 12,
    least: 12
  },
  { name: "before the only PUT of a short call", at: /^PUT \S+ $/, phase: "head", megabytes: 1, least: 1 },
  { name: "after the only PUT of a short call", at: /^PUT \S+ $/, phase: "done", megabytes: 1, least: 1 }
]

describe("a recording whose process is killed", () => {
  for (const { at, least, megabytes, name, phase } of points) {
    it.live(`${name} is completed from the spool by the next process, once and without loss`, () =>
      Effect.gen(function* () {
        const server = yield* emulatedS3
        const folder = yield* temporaryFolder
        const args = [program, server.url, folder, key, String(megabytes)]
        const child = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(process.execPath, ["--conditions=@svc/source", "--import", "tsx", ...args], {
              cwd: root,
              stdio: ["ignore", "pipe", "inherit"]
            })
          ),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const output: Array<Buffer> = []
        child.stdout.on("data", (bytes: Buffer) => output.push(bytes))
        const dead = Effect.async<NodeJS.Signals | null>((resume) => {
          child.once("exit", (_, signal) => resume(Effect.succeed(signal)))
        })
        server.misbehave(({ key, method, query }, now) => {
          if (
            now !== phase ||
            !at.test(
              `${method} ${key} ${[...query].map(([one, value]) => (one === "uploads" || one === "uploadId" ? one : `${one}=${value}`)).join(" ")}`
            )
          )
            return undefined
          child.kill("SIGKILL")
          return hang
        })
        expect(yield* dead).toBe("SIGKILL")
        expect(Buffer.concat(output).toString()).not.toContain("finished")

        server.misbehave(() => undefined)
        const { store } = yield* storeIn(folder, settingsAt(server.url))
        const size = Option.getOrThrow(yield* store.recover(key))
        expect(size).toBeGreaterThanOrEqual(least * mega)
        const stored = server.objects.get(key)?.bytes
        expect(stored?.equals(soundOf(megabytes * mega).subarray(0, size))).toBe(true)
        expect(server.objects.size).toBe(1)
        expect(server.uploads.size).toBe(0)
        expect(yield* Effect.promise(() => readdir(folder))).toEqual([])
        const requests = server.log.length
        expect(yield* store.recover(key)).toEqual(Option.some(size))
        expect(server.log.slice(requests)).toEqual([`HEAD ${key}`])
      }).pipe(Effect.scoped)
    )
  }
})
