import { Statement } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { DueCheck } from "@svc/cluster/DueCheck"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Context, Effect, Layer, Logger, LogLevel, Redacted } from "effect"
import { WebSocket } from "ws"
import { HttpServer } from "../src/http/listening/HttpServer.ts"
import { Server } from "../src/Server.ts"
import { ask, json } from "./servers/Client.ts"

const key = `svc_live_${"a".repeat(48)}`
const orgKey = `svc_org_${"b".repeat(48)}`

/** The services of the whole server on a database of its own. */
const services = Effect.gen(function* () {
  const url = yield* TestDatabase.freshUrl
  const settings = new Map([
    ["SVC_DATABASE_URL", Redacted.value(url)],
    ["SVC_PORT", "0"],
    ["SVC_PLUGINS", "@svc/plugin-simulated"],
    ["SVC_ALLOW_PRIVATE_URLS", "true"],
    ["SVC_STRICT_RESPONSES", "true"],
    ["SVC_BOOTSTRAP_PROJECT_KEY", key],
    ["SVC_BOOTSTRAP_ORG_KEY", orgKey],
    ["SVC_BOOTSTRAP_WORKSPACE_KEY", `svc_wsp_live_${"c".repeat(48)}`]
  ])
  // The test database's own address comes from the environment, so only the server sees these settings.
  return yield* Layer.build(Server).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(settings)))
})

/** The port of a server. */
const start = services.pipe(
  Effect.map((context) => Context.get(context, HttpServer).port),
  Effect.provide(Logger.remove(Logger.defaultLogger))
)

describe("the server", () => {
  it.scopedLive("serves the voice API after its first start", () =>
    Effect.gen(function* () {
      const port = yield* start
      const health = json(yield* ask(port, { path: "/v1/health", key }))
      expect(health).toEqual({
        status: "ok",
        tier: "enterprise",
        project_id: expect.any(Number),
        org_id: expect.any(Number)
      })
      expect(json(yield* ask(port, { path: "/v1/health", key: orgKey }))).toEqual({ ...health, project_id: null })
      const withProject = { path: "/v1/health", key: orgKey, headers: { "x-project-id": String(health["project_id"]) } }
      expect(json(yield* ask(port, withProject))).toEqual(health)

      const created = yield* ask(port, {
        path: "/v1/agents",
        key,
        body: JSON.stringify({ name: "Reception", server_url: "http://127.0.0.1:9/" })
      })
      expect(created.status).toBe(201)
      expect(json(created)).toMatchObject({ agent: { name: "Reception" }, server_secret: expect.any(String) })
      expect(json(yield* ask(port, { path: "/v1/agents", key }))["agents"]).toHaveLength(1)
      const bought = yield* ask(port, {
        path: "/v1/phone-numbers/import",
        key,
        body: JSON.stringify({ number: "+3225550100", telephony: "simulated" })
      })
      expect(bought.status).toBe(201)
      expect(json(yield* ask(port, { path: "/v1/calls", key }))).toEqual({ calls: [], next_cursor: null })
      expect(json(yield* ask(port, { path: "/readyz" }))["status"]).toBe("ok")
    })
  )

  it.scopedLive("answers invalid fields with the documented messages", () =>
    Effect.gen(function* () {
      const port = yield* start
      const details = (body: unknown) =>
        Effect.map(ask(port, { path: "/v1/agents", key, body: JSON.stringify(body) }), (answer) => {
          expect(answer.status).toBe(400)
          expect(answer.text).not.toMatch(/AgentCreate|Schema|Expected/)
          return json(answer)
        })
      expect(yield* details({ server_url: "http://127.0.0.1/" })).toEqual({
        code: "VALIDATION_ERROR",
        message: "name is required.",
        error: "name is required.",
        details: { name: "name is required." }
      })
      const one = { name: "a", server_url: "http://127.0.0.1/" }
      const messageOf = (body: unknown) => Effect.map(details(body), (error) => error["message"])
      expect(yield* messageOf({ ...one, language: "xx" })).toBe("language must be a supported BCP-47 code")
      expect(yield* messageOf({ ...one, max_duration: "long" })).toBe("max_duration must be between 60 and 7200")
      expect(yield* messageOf({ ...one, voice: "Nobody" })).toBe("voice not available for the selected language")
      expect(yield* messageOf({ ...one, name: 5 })).toBe("name must be a string")
      expect(yield* messageOf({ ...one, recording: "yes" })).toBe("recording must be true or false")
      expect((yield* details({}))["details"]).toEqual({
        name: "name is required.",
        server_url: "server_url is required."
      })
      const number = yield* ask(port, {
        path: "/v1/phone-numbers/import",
        key,
        body: '{"number":"12","telephony":"x"}'
      })
      expect(json(number)["message"]).toBe("must be a valid E.164 phone number")
      const foreign = yield* ask(port, { path: "/v1/agents/agent_unknown", key })
      expect([foreign.status, json(foreign)["code"]]).toEqual([404, "AGENT_NOT_FOUND"])
    })
  )

  it.scopedLive("mounts the routes of the telephony plugins", () =>
    Effect.gen(function* () {
      const port = yield* start
      const answer = yield* Effect.async<unknown, Error>((resume) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/telephony/simulated`)
        socket.once("open", () =>
          socket.send(JSON.stringify({ event: "dial", to: "+3225550199", from: "+3225550100" }))
        )
        socket.once("message", (data) => {
          resume(Effect.succeed(JSON.parse(String(data))))
          socket.close()
        })
        socket.once("error", (error) => resume(Effect.fail(error)))
      })
      expect(answer).toMatchObject({ event: "rejected" })
    })
  )

  it.scopedLive("checks for all workers together whether something is due, without a failure", () =>
    Effect.gen(function* () {
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) warnings.push(message)
      })
      const context = yield* Effect.provide(services, Logger.replace(Logger.defaultLogger, logger))
      const checked = yield* Context.get(context, DueCheck).register("test", () => Statement.unsafeFragment("true"))
      // At the first check, 2 seconds after the start. A check that fails wakes this worker too.
      yield* checked
      expect(warnings).toEqual([])
    })
  )
})
