import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ProcessTable from "../src/blackbox/ProcessTable.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const echo = { otherwise: "Ok {{user}}." }
const anyKey = /svc_(live|org|wsp_live)_[0-9a-f]{48}/g

/** A data folder that is removed with the scope; its database may still be stopping. */
const folder = Effect.acquireRelease(
  Effect.promise(() => fs.mkdtemp(path.join(os.tmpdir(), "svc-blackbox-"))),
  (dir) => Effect.promise(() => fs.rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
)

/** The process id of the database on this data folder. */
const databasePid = (dir: string) =>
  Effect.map(
    Effect.promise(() => fs.readFile(path.join(dir, "postgres", "postmaster.pid"), "utf8")),
    (text) => Number(text.split("\n")[0])
  )

/** The events of the call that the killed server held, and that no key is stored in the clear. */
const checkStored = (callId: string, keys: ServerProcess.ServerKeys) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const events = yield* CallRecords.eventsOf(callId)
    expect(CallRecords.misfitsOf(events)).toEqual([])
    expect(CallRecords.namesOf(events).slice(-2)).toEqual(["call.ended", "call.failed"])
    expect(CallRecords.namesOf(events, "call.ended")).toHaveLength(1)
    expect(CallRecords.namesOf(events, "call.failed")).toHaveLength(1)
    const stored = yield* sql<{ readonly row: string }>`select row_to_json(k)::text as row from api_keys k`
    for (const key of Object.values(keys)) {
      expect(stored.some(({ row }) => row.includes(Redacted.value(key)))).toBe(false)
    }
  })

it.scopedLive(
  "a server with the embedded database creates its keys once, keeps its data when killed, and leaves no PostgreSQL running",
  () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const options = { data: { folder: dir } }
      const server = yield* ServerProcess.start(options)
      const printed = server.output().match(anyKey) ?? []
      expect(printed.map((key) => key.slice(0, -48)).sort()).toEqual(["svc_live_", "svc_org_", "svc_wsp_live_"])
      expect((yield* server.api.get("/v1/health")).body).toMatchObject({ status: "ok", tier: "enterprise" })

      const line = yield* Line.open(server, () => Line.configuration(echo))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("Hi")
      yield* phone.hears("Ok Hi.")
      yield* eventually("the turns", server.api.get(`/v1/calls/${callId}`), ({ body }) => {
        return CallRecords.spoken(body).length === 3
      })

      // Other commands work on its database while it runs.
      const beside = { SVC_DATA_DIR: dir, SVC_PORT: "0" }
      const [migrate, doctor] = yield* Effect.all([
        SvcProcess.run(["migrate"], beside),
        SvcProcess.run(["doctor", "--dev"], beside)
      ])
      expect([migrate.code, migrate.output]).toEqual([0, expect.stringContaining("up to date")])
      expect([doctor.code, doctor.output]).toEqual([0, expect.not.stringContaining("FAIL")])

      const database = yield* databasePid(dir)
      expect(ProcessTable.isAlive(database)).toBe(true)
      yield* server.signal("SIGKILL")
      yield* server.exit()
      yield* ProcessTable.gone(database)

      const next = yield* ServerProcess.start({ ...options, keys: server.keys })
      expect(next.output()).not.toMatch(anyKey)
      expect(yield* databasePid(dir)).not.toBe(database)
      const call = yield* CallRecords.settled(next.api, callId)
      expect(call).toMatchObject({ status: "failed", disposition: "failed", ended_reason: "error" })
      expect(CallRecords.spoken(call)).toEqual(["assistant: Hello.", "user: Hi", "assistant: Ok Hi."])
      yield* Effect.gen(function* () {
        const { url } = yield* EmbeddedPostgres.start({ dir: path.join(dir, "postgres") })
        yield* checkStored(callId, next.keys).pipe(Effect.provide(pool(url, 1)))
      }).pipe(Effect.scoped)

      const second = yield* databasePid(dir)
      yield* next.signal("SIGTERM")
      expect((yield* next.exit()).code).toBe(0)
      yield* ProcessTable.gone(second)
    }),
  120_000
)
