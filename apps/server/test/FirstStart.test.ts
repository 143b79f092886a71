import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Bootstrap, type BootstrapKey } from "@svc/auth/Bootstrap"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { FirstStart } from "../src/FirstStart.ts"

const key = (text: string): BootstrapKey => ({ key: Redacted.make(text), generated: true })
const given: BootstrapKey = { key: Redacted.make("svc_org_given"), generated: false }

const bootstrap = Layer.succeed(Bootstrap, {
  run: Effect.succeed({
    created: true as const,
    org: { id: 1, public_id: "org_1" },
    project: { id: 1, public_id: "proj_1" },
    keys: { org: given, project: key("svc_live_new"), workspace: key("svc_wsp_live_new") }
  })
})

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-first-start-"))),
  (dir) => Effect.sync(() => fs.rmSync(dir, { recursive: true }))
)

/** What a first start prints. */
const printed = (settings: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const defaults = yield* Effect.console
    const output = { ...defaults, log: (text: unknown) => Effect.sync(() => void lines.push(String(text))) }
    yield* Effect.withConsole(Effect.scoped(Layer.build(FirstStart.layer.pipe(Layer.provide(bootstrap)))), output)
    return lines.join("\n")
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings)))))

describe("the first start", () => {
  it.scopedLive("prints the generated keys", () =>
    Effect.gen(function* () {
      const text = yield* printed({ SVC_LOG_FORMAT: "logfmt" })
      // Without the variable the log is JSON where there is no terminal; whoever starts the program still reads its output.
      expect(yield* printed({})).toBe(text)
      expect(text).toContain("  project key    svc_live_new\n")
      expect(text).toContain("  org key        as given in SVC_BOOTSTRAP_ORG_KEY\n")
    })
  )

  it.scopedLive("with a JSON log writes them to a file that others cannot read, and prints where it is", () =>
    Effect.gen(function* () {
      const dir = path.join(yield* folder, "data")
      const file = path.join(dir, "first-start-keys")
      fs.mkdirSync(dir)
      fs.writeFileSync(file, "of an earlier database", { mode: 0o644 })
      const text = yield* printed({ SVC_LOG_FORMAT: "json", SVC_DATA_DIR: dir })
      expect(text).toBe(
        `First start: made organization org_1 with project proj_1. Its keys are in ${file}: note them and delete the file.`
      )
      expect(fs.statSync(file).mode & 0o777).toBe(0o600)
      const kept = fs.readFileSync(file, "utf8")
      expect(kept).toContain("svc_live_new")
      expect(kept).toContain("svc_wsp_live_new")
      expect(kept).not.toContain("svc_org_given")
    })
  )

  it.scopedLive("with a JSON log and no folder to write to prints how to make other keys, and starts", () =>
    Effect.gen(function* () {
      const dir = path.join(yield* folder, "file")
      fs.writeFileSync(dir, "")
      const text = yield* printed({ SVC_LOG_FORMAT: "json", SVC_DATA_DIR: dir })
      expect(text).toContain("could not be stored (")
      expect(text).toContain("make others with svc keys create")
      expect(text).not.toContain("svc_live_new")
    })
  )
})
