import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Effect, Layer, Logger } from "effect"
import * as RecordingStore from "../../src/recording/RecordingStore.ts"
import { MemoryStore } from "../doubles/MemoryStore.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-store-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** The store that recordings use with this store of a plugin, and what is logged. */
const storeWith = (objectStore: typeof ObjectStore.Service | undefined, recordings: string) => {
  const lines: Array<string> = []
  const providers = Layer.succeed(Providers, {
    plugins: [],
    telephony: [],
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    embedding: undefined,
    objectStore
  })
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => lines.push(String(message)))
  )
  return ObjectStore.pipe(
    Effect.provide(Layer.provide(RecordingStore.layer, providers)),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_RECORDINGS_DIR", recordings]]))),
    Effect.provide(logger),
    Effect.map((store) => ({ store, lines }))
  )
}

describe("recordings", () => {
  it.scoped("are files without an object store of a plugin", () =>
    Effect.gen(function* () {
      const { store } = yield* storeWith(undefined, yield* folder)
      expect(store.id).toBe("local")
    })
  )

  it.scoped("go to the object store of a plugin, and a folder of none or no files is not mentioned", () =>
    Effect.gen(function* () {
      const plugin = new MemoryStore().service
      const empty = yield* folder
      for (const recordings of [empty, join(empty, "absent")]) {
        const { lines, store } = yield* storeWith(plugin, recordings)
        expect(store).toBe(plugin)
        expect(lines).toEqual([])
      }
    })
  )

  it.scoped("that are still in the folder are named at the start, because they are not found any more", () =>
    Effect.gen(function* () {
      const recordings = yield* folder
      mkdirSync(join(recordings, "recordings"))
      writeFileSync(join(recordings, "recordings", "call_1.mp3"), "audio")
      const plugin = new MemoryStore().service
      const { lines } = yield* storeWith(plugin, recordings)
      expect(lines).toEqual([
        expect.stringContaining(`go to the object store ${plugin.id}, but ${recordings} has files`)
      ])
    })
  )
})
