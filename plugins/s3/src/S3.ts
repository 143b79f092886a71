import { mkdir } from "node:fs/promises"
import { ObjectStore } from "@svc/providers/ObjectStore"
import * as Plugin from "@svc/providers/Plugin"
import { Effect, Layer, Schema } from "effect"
import { make as makeBucket } from "./Bucket.ts"
import { make as makeClient } from "./S3Client.ts"
import { make as makeStore } from "./S3Store.ts"
import { make as makeSpool } from "./Spool.ts"

const isOrigin = (text: string): boolean => {
  try {
    const { hash, password, pathname, protocol, search, username } = new URL(text)
    return (
      /^https?:$/.test(protocol) && pathname === "/" && [search, hash, username, password].every((part) => part === "")
    )
  } catch {
    return false
  }
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const Origin = Schema.String.pipe(
  Schema.filter(isOrigin, {
    message: () => "must be an http or https address without a path, as https://s3.eu-central-1.amazonaws.com"
  })
)

const Settings = Schema.Struct({
  endpoint: optional(Origin),
  publicEndpoint: optional(Origin),
  bucket: Schema.String.pipe(
    Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/, { message: () => "must be the name of a bucket" })
  ),
  region: Schema.optionalWith(
    Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9-]{1,64}$/, { message: () => "must be a region, as eu-central-1" })),
    { default: () => "us-east-1", exact: true }
  ),
  accessKeyId: Schema.Redacted(Schema.NonEmptyString),
  secretAccessKey: Schema.Redacted(Schema.NonEmptyString),
  spoolDir: optional(Schema.NonEmptyString),
  spoolMb: Schema.optionalWith(
    Schema.NumberFromString.pipe(
      Schema.filter((n) => Number.isInteger(n) && n >= 10 && n <= 100_000_000, {
        message: () => "must be a whole number of megabytes, at least 10"
      })
    ),
    { default: () => 10_240, exact: true }
  )
})
type Settings = typeof Settings.Type

/**
 * Recordings in a bucket of Amazon S3, or of a server that speaks its protocol, path-style.
 *
 * Settings: `SVC_S3_ENDPOINT`, `SVC_S3_BUCKET`, `SVC_S3_REGION`, `SVC_S3_ACCESS_KEY_ID`, `SVC_S3_SECRET_ACCESS_KEY`,
 * `SVC_S3_PUBLIC_ENDPOINT`, `SVC_S3_SPOOL_DIR`, `SVC_S3_SPOOL_MB`.
 */
export default Plugin.make({
  name: "s3",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: (settings: Settings, host) => {
    const { accessKeyId, bucket, region, secretAccessKey } = settings
    const endpoint = new URL(settings.endpoint ?? `https://s3.${region}.amazonaws.com`).origin
    const publicEndpoint = new URL(settings.publicEndpoint ?? endpoint).origin
    const folder = settings.spoolDir ?? host.folder
    const objectStore = Layer.scoped(
      ObjectStore,
      Effect.gen(function* () {
        const spool = yield* Effect.tryPromise(() => mkdir(folder, { recursive: true, mode: 0o700 })).pipe(
          Effect.zipRight(makeSpool(folder, settings.spoolMb * 1024 * 1024)),
          Effect.mapError(
            ({ message }) =>
              new Plugin.PluginError({
                plugin: "s3",
                reason: `the folder of SVC_S3_SPOOL_DIR cannot be used: ${message}`
              })
          )
        )
        const client = yield* makeClient({
          endpoint,
          publicEndpoint,
          bucket,
          region,
          accessKeyId,
          secretAccessKey,
          host
        })
        return yield* makeStore({ bucket: makeBucket(client), client, spool, host })
      })
    )
    return { objectStore }
  }
})
