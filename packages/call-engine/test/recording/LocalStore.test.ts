import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { fencedObjectStore } from "@svc/plugin-host/fence/FencedObjectStore"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { objectStoreSuite } from "@svc/providers/testing/ObjectStoreSuite"
import { ConfigProvider, Effect, Layer } from "effect"
import * as LocalStore from "../../src/recording/LocalStore.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-store-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const Fresh = Layer.unwrapScoped(Effect.map(folder, (made) => Layer.effect(ObjectStore, LocalStore.make(made))))

objectStoreSuite({ name: "LocalStore", layer: Fresh, sessions: 200 })

objectStoreSuite({
  name: "LocalStore behind the fence of plugins",
  layer: Layer.unwrapScoped(
    Effect.map(folder, (made) => Layer.effect(ObjectStore, Effect.flatMap(LocalStore.make(made), fencedObjectStore)))
  ),
  sessions: 50
})

describe("the local store", () => {
  it.scoped("creates files that other users of the machine cannot read", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const store = yield* LocalStore.make(made)
      yield* Effect.scoped(
        Effect.flatMap(store.write("a/b.mp3", "audio/mpeg"), (writer) =>
          Effect.zipRight(writer.append(new Uint8Array(10)), writer.finish)
        )
      )
      expect(statSync(join(made, "a/b.mp3")).mode & 0o777).toBe(0o600)
      expect(statSync(join(made, "a")).mode & 0o777).toBe(0o700)
      expect(readdirSync(join(made, "a"))).toEqual(["b.mp3"])
    })
  )

  it.scoped("fails with the system's error code and without paths when the disk refuses a write", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "file")
      writeFileSync(file, "")
      const store = yield* LocalStore.make(join(file, "recordings"))
      const error = yield* Effect.flip(Effect.scoped(store.write("a.mp3", "audio/mpeg")))
      expect(error._tag).toBe("ObjectStoreError")
      expect(error.reason).toMatch(/^creating a folder failed: E[A-Z]+$/)
    })
  )

  it.scoped("uses the folder SVC_RECORDINGS_DIR, else recordings in SVC_DATA_DIR", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const names = [
        ["SVC_DATA_DIR", join(made, "data")],
        ["SVC_RECORDINGS_DIR", join(made, "elsewhere")]
      ] as const
      for (const [count, file] of [
        [1, "data/recordings/x.mp3"],
        [2, "elsewhere/x.mp3"]
      ] as const) {
        const config = ConfigProvider.fromMap(new Map(names.slice(0, count)))
        yield* Effect.scoped(
          Effect.flatMap(ObjectStore, (store) =>
            Effect.flatMap(store.write("x.mp3", "audio/mpeg"), (writer) => writer.finish)
          )
        ).pipe(Effect.provide(LocalStore.layer), Effect.withConfigProvider(config))
        expect(statSync(join(made, file)).isFile()).toBe(true)
      }
    })
  )
})
