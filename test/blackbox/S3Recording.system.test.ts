import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import S3rver from "s3rver"
import { call, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import { framesOf } from "../src/blackbox/Mp3Frames.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-s3-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** A store on a port, with a bucket whose objects are in a folder; it ends with the scope. */
const storeAt = (port: number, directory: string) =>
  Effect.acquireRelease(
    Effect.promise(() => {
      const configureBuckets = [{ name: "recordings", configs: [] }]
      const store = new S3rver({ port, address: "127.0.0.1", silent: true, directory, configureBuckets })
      return store.run().then((address) => ({ store, port: address.port }))
    }),
    ({ store }) => Effect.promise(() => store.close())
  )

it.scopedLive(
  "a recording is in the bucket after its call, is linked there, and waits for a store that is down and a server that was killed",
  () =>
    Effect.gen(function* () {
      const objects = yield* folder
      const data = yield* folder
      const spool = () => readdirSync(join(data, "plugins", "s3"))
      const spooledBytes = () =>
        spool().reduce((sum, entry) => sum + statSync(join(data, "plugins", "s3", entry, "data")).size, 0)
      const database = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const options = (port: number) => ({
        data: { url: database },
        keys,
        env: {
          SVC_DATA_DIR: data,
          SVC_PLUGINS: "@svc/plugin-s3,@svc/plugin-simulated",
          SVC_S3_ENDPOINT: `http://127.0.0.1:${port}`,
          SVC_S3_BUCKET: "recordings",
          SVC_S3_ACCESS_KEY_ID: "S3RVER",
          SVC_S3_SECRET_ACCESS_KEY: "S3RVER"
        }
      })
      const talk = (server: ServerProcess.ServerProcess) =>
        Effect.gen(function* () {
          const line = yield* Line.open(server, () => Line.configuration(echo), { recording: true })
          const { callId, phone } = yield* line.call
          yield* phone.hears("Hello.")
          phone.say("Hi")
          yield* phone.hears("Ok Hi.")
          return { callId, phone }
        })
      const linkOf = (server: ServerProcess.ServerProcess, callId: string) =>
        Effect.map(
          eventually(
            `the link of ${callId}`,
            server.api.get(`/v1/calls/${callId}/recording?expires_in=120`),
            ({ status }) => status === 200,
            "60 seconds"
          ),
          ({ body }) => textAt(body, "url")
        )
      const secondsOf = (url: string) =>
        Effect.map(
          Effect.promise(() => fetch(url).then((answer) => answer.arrayBuffer())),
          (bytes) => framesOf(new Uint8Array(bytes)).seconds
        )

      const { port, second } = yield* Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* storeAt(0, objects)
          const first = yield* Effect.scoped(
            Effect.gen(function* () {
              const server = yield* ServerProcess.start(options(port))
              const { callId, phone } = yield* talk(server)
              expect(spool()).toHaveLength(1)
              phone.hangup()
              const record = yield* CallRecords.settled(server.api, callId)
              const url = yield* linkOf(server, callId)
              expect(url).toMatch(
                new RegExp(`^http://127\\.0\\.0\\.1:${port}/recordings/recordings/${callId}\\.mp3\\?`)
              )
              expect(Math.abs((yield* secondsOf(url)) - Number(record["duration_seconds"]))).toBeLessThan(1.2)
              expect(spool()).toEqual([])

              const killed = yield* talk(server)
              yield* eventually("two seconds in the spool", Effect.sync(spooledBytes), (bytes) => bytes > 8000)
              yield* server.signal("SIGKILL")
              yield* server.exit()
              expect(spool()).toHaveLength(1)
              return killed.callId
            })
          )
          return { port, second: first }
        })
      )

      // The store is down when the next server starts.
      const server = yield* ServerProcess.start({ ...options(port), unready: true })
      expect((yield* call(`${server.url}/readyz`, "GET")).text).toContain("object store")
      yield* CallRecords.settled(server.api, second)
      yield* server.lines.find("the log line", (text) => text.includes("could not be completed"), "60 seconds")
      expect(spool()).toHaveLength(1)
      yield* storeAt(port, objects)
      expect(yield* secondsOf(yield* linkOf(server, second))).toBeGreaterThan(1)
      yield* eventually("an empty spool", Effect.sync(spool), (entries) => entries.length === 0)
    }),
  { timeout: 180_000 }
)
