import * as net from "node:net"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import { at, call } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as PhoneClient from "../src/blackbox/PhoneClient.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const echo = { otherwise: "Ok {{user}}." }
const slow = { timeout: 120_000 }

/** Lines on standard error, without log lines. */
const lines = (errors: string): ReadonlyArray<string> =>
  errors.split("\n").filter((line) => line.trim() !== "" && !line.includes('"logLevel":"INFO"'))

/** Another process on a port. */
const occupied = Effect.map(
  Effect.acquireRelease(
    Effect.async<net.Server>((resume) => {
      const server = net.createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  ),
  (server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }
)

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("A server", (it) => {
  it.scoped(
    "answers 503 on /readyz and in the API while the database is unavailable, keeps a live call, and recovers",
    () =>
      Effect.gen(function* () {
        const { api, database, url } = yield* BlackBox
        expect((yield* call(`${url}/healthz`, "GET")).body).toMatchObject({ status: "ok" })
        expect((yield* call(`${url}/readyz`, "GET")).status).toBe(200)
        const line = yield* Line.open({ api, url }, ({ event }) =>
          event === "call.started" ? Line.configuration(echo) : { json: {} }
        )
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        yield* eventually("the first turn", api.get(`/v1/calls/${callId}`), ({ body }) => {
          return CallRecords.spoken(body).length === 1
        })

        const here = new URL(Redacted.value(database))
        const name = here.pathname.slice(1)
        here.pathname = "/postgres"
        const admin = Effect.provide(pool(here.href, 1))
        const allow = (connections: boolean) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql`alter database ${sql(name)} allow_connections ${sql.literal(String(connections))}`
            if (!connections) yield* sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
          }).pipe(admin, Effect.orDie)
        // The other tests get their database back in any case.
        yield* Effect.addFinalizer(() => allow(true))

        yield* allow(false)
        const unavailable = yield* eventually(
          "readyz without a database",
          call(`${url}/readyz`, "GET"),
          ({ status }) => {
            return status === 503
          }
        )
        expect(at(unavailable.body, "details.database")).toEqual(expect.any(String))
        expect(unavailable.body).toMatchObject({ code: "UNAVAILABLE", error: unavailable.body["message"] })
        expect(unavailable.body["message"]).toMatch(/database/)
        expect(unavailable.text).not.toContain(Redacted.value(database))
        expect((yield* call(`${url}/healthz`, "GET")).status).toBe(200)
        const refused = yield* api.get("/v1/agents")
        expect([refused.status, refused.body["code"]]).toEqual([503, "UNAVAILABLE"])
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")

        yield* allow(true)
        yield* eventually("readyz with a database", call(`${url}/readyz`, "GET"), ({ status }) => status === 200)
        phone.hangup()
        const ended = yield* CallRecords.settled(api, callId)
        expect(ended).toMatchObject({ status: "completed", disposition: "answered", ended_reason: "caller-hangup" })
        expect(CallRecords.spoken(ended)).toEqual(["assistant: Hello.", "user: Hi", "assistant: Ok Hi."])
        const events = yield* CallRecords.eventsOf(callId)
        expect(CallRecords.misfitsOf(events)).toEqual([])
        expect(CallRecords.namesOf(events, "call.")).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(CallRecords.dataOf(events, "transcript.updated").map(({ turn_index }) => turn_index)).toEqual([0, 1, 2])
      }),
    slow
  )

  it.scoped(
    "refuses private URLs outside development mode, in new agents and at each connection",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration(echo))
        const { api, url } = yield* ServerProcess.start({
          data: { url: box.database },
          keys: box.keys,
          env: { SVC_PLUGINS: "@svc/plugin-simulated" },
          production: true
        })
        const notPublic = "server_url must be a valid public HTTPS URL"
        const blocked = "server_url blocked by SSRF filter"
        const rules: ReadonlyArray<readonly [string, string]> = [
          ["http://93.184.216.34/", notPublic],
          ["https://nowhere.invalid/", notPublic],
          ["https://user:password@93.184.216.34/", notPublic],
          ["https://127.0.0.1/", blocked],
          ["https://2130706433/", blocked],
          ["https://0x7f.1/", blocked],
          ["https://10.1.2.3/", blocked],
          ["https://172.16.0.1/", blocked],
          ["https://192.168.1.1/", blocked],
          ["https://169.254.169.254/latest/meta-data/", blocked],
          ["https://100.64.0.1/", blocked],
          ["https://0.0.0.0/", blocked],
          ["https://localhost/", blocked],
          ["https://[::1]/", blocked],
          ["https://[fd00::1]/", blocked],
          ["https://[fe80::1]/", blocked],
          ["https://[::ffff:127.0.0.1]/", blocked]
        ]
        for (const [server_url, message] of rules) {
          const reply = yield* api.post("/v1/agents", { name: "A", server_url })
          expect([server_url, reply.status, reply.body["code"], reply.body["details"]]).toEqual([
            server_url,
            400,
            "VALIDATION_ERROR",
            { server_url: message }
          ])
        }
        const allowed = yield* api.post("/v1/agents", { name: "A", server_url: "https://93.184.216.34/agent" })
        expect(allowed.status).toBe(201)

        const phone = yield* PhoneClient.connect(url)
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        yield* phone.until("ringing")
        yield* phone.until("hangup")
        const listed = yield* eventually(
          "the failed call",
          api.get(`/v1/calls?agent_id=${line.agentId}`),
          ({ body }) => {
            return typeof at(body, "calls.0.ended_at") === "string"
          }
        )
        expect(at(listed.body, "calls.0")).toMatchObject({ status: "failed", ended_reason: "error" })
        expect(line.customer.connections()).toBe(0)
        expect(line.customer.inbox.all).toEqual([])
      }),
    slow
  )

  it.effect(
    "runs beside svc migrate and svc doctor",
    () =>
      Effect.gen(function* () {
        const { database, url } = yield* BlackBox
        const env = ServerProcess.environmentOf({
          data: { url: database },
          env: { SVC_PORT: new URL(url).port }
        })
        const [migrate, doctor] = yield* Effect.all(
          [SvcProcess.run(["migrate", "--json"], env), SvcProcess.run(["doctor", "--dev", "--json"], env)],
          { concurrency: 2 }
        )
        expect([migrate.code, JSON.parse(migrate.output)]).toMatchObject([0, { up_to_date: true }])
        expect([doctor.code, JSON.parse(doctor.output)]).toMatchObject([0, { ok: true }])
        for (const word of ["configuration", "database", "plugins", "port"]) expect(doctor.output).toContain(word)
        for (const { output } of [migrate, doctor]) {
          expect(output).not.toContain(Redacted.value(database))
        }
      }),
    slow
  )

  it.effect(
    "does not print keys given by SVC_BOOTSTRAP_ variables",
    () =>
      Effect.gen(function* () {
        const { keys, output } = yield* BlackBox
        for (const key of Object.values(keys)) expect(output()).not.toContain(Redacted.value(key))
        expect(output()).not.toMatch(/svc_(live|org|wsp_live)_[0-9a-f]{48}/)
      }),
    slow
  )

  const wrong: ReadonlyArray<readonly [string, SvcProcess.Environment]> = [
    ["SVC_PORT", { SVC_PORT: "eighty" }],
    ["SVC_DATABASE_URL", { SVC_DATABASE_URL: "mysql://localhost/svc" }],
    ["SVC_PLUGINS", { SVC_PLUGINS: "@svc/plugin-nope" }],
    ["SVC_BOOTSTRAP_PROJECT_KEY", { SVC_BOOTSTRAP_PROJECT_KEY: "svc_live_short" }]
  ]
  it.effect(
    "does not start with an invalid variable, and prints one line that names it",
    () =>
      Effect.gen(function* () {
        const { database } = yield* BlackBox
        yield* Effect.forEach(
          wrong,
          ([variable, env]) =>
            Effect.gen(function* () {
              const options = ServerProcess.environmentOf({ data: { url: database }, env })
              const { code, errors } = yield* SvcProcess.run(["serve", "--dev"], options)
              const named = expect.stringMatching(new RegExp(`\\b${variable}\\b`))
              expect([variable, code, lines(errors)]).toEqual([variable, 1, [named]])
            }),
          { concurrency: 2 }
        )
      }),
    slow
  )

  it.scoped(
    "does not start on a used port or without its database, and prints one line",
    () =>
      Effect.gen(function* () {
        const { database } = yield* BlackBox
        const port = String(yield* occupied)
        const taken = ServerProcess.environmentOf({ data: { url: database }, env: { SVC_PORT: port } })
        const secret = "s3cret"
        const nowhere = new URL(Redacted.value(database))
        nowhere.password = secret
        nowhere.pathname = "/svc_no_such_database"
        const gone = ServerProcess.environmentOf({ data: { url: Redacted.make(nowhere.href) } })
        const [busy, missing] = yield* Effect.all(
          [SvcProcess.run(["serve", "--dev"], taken), SvcProcess.run(["serve", "--dev"], gone)],
          { concurrency: 2 }
        )
        expect([busy.code, lines(busy.errors)]).toEqual([1, [expect.stringContaining(port)]])
        expect(busy.output).toMatch(/SVC_PORT/)
        expect([missing.code, lines(missing.errors)]).toEqual([1, [expect.stringMatching(/database/i)]])
        expect(missing.output).not.toContain(secret)
      }),
    slow
  )
})
