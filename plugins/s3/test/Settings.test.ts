import { describe, expect, it } from "@effect/vitest"
import { pluginConfig } from "@svc/plugin-host/loader/PluginConfig"
import { ConfigProvider, Effect } from "effect"
import plugin from "../src/S3.ts"
import { emulatedS3, hang, keyId, s3Error, secretKey } from "./EmulatedS3.ts"
import { settingsAt, storeIn, temporaryFolder } from "./Provided.ts"
import { signatureOf } from "./Signature.ts"

const problemOf = (variables: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.flip(
      Effect.withConfigProvider(pluginConfig(plugin, {}), ConfigProvider.fromMap(new Map(Object.entries(variables))))
    ),
    ({ reason }) => reason
  )

describe("the settings of s3", () => {
  it.effect("are named when they are missing or wrong, and their values are not shown", () =>
    Effect.gen(function* () {
      expect(yield* problemOf({})).toBe(
        "SVC_S3_BUCKET is not set; SVC_S3_ACCESS_KEY_ID is not set; SVC_S3_SECRET_ACCESS_KEY is not set"
      )
      const keys = { SVC_S3_BUCKET: "recordings", SVC_S3_ACCESS_KEY_ID: "a", SVC_S3_SECRET_ACCESS_KEY: "b" }
      const address = "must be an http or https address without a path, as https://s3.eu-central-1.amazonaws.com"
      for (const url of ["localhost:9000", "http://minio:9000/recordings", "https://a:secret@minio", "ftp://minio"]) {
        expect(yield* problemOf({ ...keys, SVC_S3_ENDPOINT: url })).toBe(`SVC_S3_ENDPOINT ${address}`)
      }
      expect(yield* problemOf({ ...keys, SVC_S3_BUCKET: "a/b" })).toBe("SVC_S3_BUCKET must be the name of a bucket")
      expect(yield* problemOf({ ...keys, SVC_S3_SPOOL_MB: "1" })).toBe(
        "SVC_S3_SPOOL_MB must be a whole number of megabytes, at least 10"
      )
    })
  )

  it.live(
    "that the store refuses make it unhealthy, are named in its health and in the log, and do not stop the start",
    () =>
      Effect.gen(function* () {
        const server = yield* emulatedS3
        const cases = [
          [{ accessKeyId: "AKIAWRONG" }, "SVC_S3_ACCESS_KEY_ID was refused"],
          [{ secretAccessKey: "wrong-secret-0123" }, "SVC_S3_SECRET_ACCESS_KEY was refused"]
        ] as const
        for (const [wrong, message] of cases) {
          const { double, store } = yield* storeIn(yield* temporaryFolder, { ...settingsAt(server.url), ...wrong })
          expect(yield* store.health).toMatchObject({ healthy: false, reason: expect.stringContaining(message) })
          expect(double.logged).toMatchObject([{ level: "error", message: expect.stringContaining(message) }])
          expect(JSON.stringify(double.logged)).not.toContain(Object.values(wrong)[0])
        }
      }).pipe(Effect.scoped)
  )

  it.live("are named by each error of the store that a setting causes", () =>
    Effect.gen(function* () {
      const server = yield* emulatedS3
      const cases = [
        [s3Error(404, "NoSuchBucket"), "SVC_S3_BUCKET names a bucket that does not exist"],
        [s3Error(400, "AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>"), "SVC_S3_REGION is not eu-west-3"],
        [s3Error(301, "PermanentRedirect"), "SVC_S3_REGION or SVC_S3_ENDPOINT is not that of the bucket"],
        [s3Error(403, "RequestTimeTooSkewed"), "the clock of this machine is wrong"],
        [s3Error(403, "AccessDenied"), "the key of SVC_S3_ACCESS_KEY_ID lacks a permission"],
        [hang, "the server of SVC_S3_ENDPOINT does not answer"]
      ] as const
      for (const [fault, message] of cases) {
        server.misbehave(() => fault)
        const { store } = yield* storeIn(yield* temporaryFolder, settingsAt(server.url))
        expect(yield* store.health).toMatchObject({ healthy: false, reason: expect.stringContaining(message) })
      }
    }).pipe(Effect.scoped)
  )

  it.live("of a folder that cannot be written stop the start", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(storeIn("/dev/null/spool", settingsAt("http://127.0.0.1:9")))
      expect(String(exit)).toContain("the folder of SVC_S3_SPOOL_DIR cannot be used")
    }).pipe(Effect.scoped)
  )
})

describe("links to recordings", () => {
  it("have signatures as Amazon's documentation computes them, by the server of these tests", () => {
    const query = {
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request",
      "X-Amz-Date": "20130524T000000Z",
      "X-Amz-Expires": "86400",
      "X-Amz-SignedHeaders": "host"
    }
    const signature = signatureOf(
      {
        method: "GET",
        path: "/test.txt",
        query: Object.entries(query),
        headers: { host: "examplebucket.s3.amazonaws.com" },
        signedHeaders: "host",
        payload: "UNSIGNED-PAYLOAD",
        date: "20130524T000000Z",
        region: "us-east-1"
      },
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    )
    expect(signature).toBe("aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  })

  it.live("work without a key, support ranges, expire, cannot be changed, and have no secret", () =>
    Effect.gen(function* () {
      const server = yield* emulatedS3
      const { store } = yield* storeIn(yield* temporaryFolder, settingsAt(server.url))
      const key = "recordings/call_1.mp3"
      yield* Effect.scoped(
        Effect.flatMap(store.write(key, "audio/mpeg"), (writer) =>
          Effect.zipRight(writer.append(new Uint8Array([1, 2, 3, 4])), writer.finish)
        )
      )
      const url = yield* store.presign?.(key, 3600) ?? Effect.die("no links")
      const get = (link: string, headers: Record<string, string> = {}) => Effect.promise(() => fetch(link, { headers }))
      const whole = yield* get(url)
      expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "audio/mpeg"])
      const part = yield* get(url, { range: "bytes=1-2" })
      expect([part.status, [...new Uint8Array(yield* Effect.promise(() => part.arrayBuffer()))]]).toEqual([206, [2, 3]])
      expect(url).not.toContain(secretKey)
      expect(url).toContain(keyId)
      expect(new URL(url).searchParams.get("X-Amz-Expires")).toBe("3600")
      expect((yield* get(url.replace("X-Amz-Expires=3600", "X-Amz-Expires=86400"))).status).toBe(403)
      expect((yield* get(yield* store.presign?.(key, 0) ?? Effect.die("no links"))).status).toBe(403)
    }).pipe(Effect.scoped)
  )

  it.live("lead to SVC_S3_PUBLIC_ENDPOINT where the store has another address inside", () =>
    Effect.gen(function* () {
      const settings = { ...settingsAt("http://127.0.0.1:9"), publicEndpoint: "https://files.example.com" }
      const { store } = yield* storeIn(yield* temporaryFolder, settings)
      const url = yield* store.presign?.("recordings/call_1.mp3", 60) ?? Effect.die("no links")
      expect(url).toMatch(/^https:\/\/files\.example\.com\/recordings\/recordings\/call_1\.mp3\?/)
    }).pipe(Effect.scoped)
  )
})
