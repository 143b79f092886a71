import { Effect } from "effect"
import S3rver from "s3rver"
import { bucketName } from "./EmulatedS3.ts"
import { settingsAt, temporaryFolder } from "./Provided.ts"

/**
 * The settings of a server of another project, with a bucket. Its keys are fixed. It checks no signatures, and cannot list
 * or abort unfinished uploads.
 */
export const realServer = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const server = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory,
    configureBuckets: [{ name: bucketName, configs: [] }]
  })
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(() => server.run()),
    () => Effect.promise(() => server.close())
  )
  return { ...settingsAt(`http://127.0.0.1:${port}`), accessKeyId: "S3RVER", secretAccessKey: "S3RVER" }
})
