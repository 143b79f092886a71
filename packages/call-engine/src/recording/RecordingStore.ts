import * as fs from "node:fs/promises"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { Providers } from "@svc/providers/Providers"
import { type ConfigError, Effect, Layer } from "effect"
import * as LocalStore from "./LocalStore.ts"

/** Recordings that were made before a plugin's store took the place of the folder are not found any more. */
const warnOfFiles = (id: string) =>
  Effect.gen(function* () {
    const folder = yield* LocalStore.folder
    const entries = yield* Effect.orElseSucceed(
      Effect.tryPromise(() => fs.readdir(folder)),
      () => []
    )
    if (entries.length === 0) return
    yield* Effect.logWarning(
      `Recordings go to the object store ${id}, but ${folder} has files: copy them to the store under the same names, and delete them, or their calls have no recording and nothing deletes them`
    )
  })

/** Where recordings are stored: in the object store of a plugin, else in files ({@link LocalStore.layer}). */
export const layer: Layer.Layer<ObjectStore, ConfigError.ConfigError, Providers> = Layer.unwrapEffect(
  Effect.map(Providers, ({ objectStore }) =>
    objectStore === undefined
      ? LocalStore.layer
      : Layer.effect(ObjectStore, Effect.as(warnOfFiles(objectStore.id), objectStore))
  )
)
