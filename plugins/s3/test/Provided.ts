import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { ObjectStore } from "@svc/providers/ObjectStore"
import type * as Plugin from "@svc/providers/Plugin"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import plugin from "../src/S3.ts"
import { bucketName, keyId, secretKey } from "./EmulatedS3.ts"

/** A folder that is deleted with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(path.join(tmpdir(), "svc-s3-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

export const settingsAt = (url: string): Readonly<Record<string, string>> => ({
  endpoint: url,
  bucket: bucketName,
  accessKeyId: keyId,
  secretAccessKey: secretKey
})

/** What the plugin provides with these settings. */
export const provided = (
  settings: Readonly<Record<string, string>>,
  { host }: HostDouble
): Effect.Effect<Plugin.Capabilities> =>
  Effect.orDie(Effect.map(Schema.decodeUnknown(plugin.config)(settings), (decoded) => plugin.provides(decoded, host)))

/** The object store of the plugin with a spool in this folder, until the scope closes. */
export const storeIn = (folder: string, settings: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const double = yield* makeHostDouble({ folder })
    const { objectStore } = yield* provided(settings, double)
    const context = yield* Effect.orDie(Layer.build(objectStore ?? Layer.die("it provides no object store")))
    return { store: Context.get(context, ObjectStore), double }
  })

/** The object store of the plugin with a spool of its own. */
export const storeLayer = (settings: Effect.Effect<Readonly<Record<string, string>>, never, Scope.Scope>) =>
  Layer.scoped(
    ObjectStore,
    Effect.gen(function* () {
      const { store } = yield* storeIn(yield* temporaryFolder, yield* settings)
      return store
    })
  )

export const mega = 1024 * 1024

/** Bytes of which no two megabytes are alike. */
export const soundOf = (size: number): Buffer => {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) >>> 0, at)
  return bytes
}
