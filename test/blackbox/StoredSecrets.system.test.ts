import { createHmac, randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Layer, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

it.scopedLive("signing secrets are encrypted with SVC_SECRET_KEY, sign as before, and move to a new key", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.freshUrl
    const keys = yield* ServerProcess.newKeys
    const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("hex")]
    const options = (env: SvcProcess.Environment) => ({ data: { url: database }, keys, env })
    const receiver = yield* CustomerServer.start(() => ({ json: {} }))
    const stored = Effect.map(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ readonly secret: string }>`
          select secret from webhooks union all select server_secret from agents
          union all select secret from signing_secrets`
      ).pipe(Effect.provide(Layer.orDie(pool(Redacted.value(database), 1)))),
      (rows) => rows.map(({ secret }) => secret)
    )
    const isTestSigned = (url: string, id: string, secret: string) =>
      Effect.gen(function* () {
        const api = ApiClient.make(url, keys.org)
        expect((yield* api.post(`/v1/webhooks/${id}/test`, { event_type: "call.ended" })).status).toBe(200)
        const request = receiver.of("call.ended").at(-1)
        const hmac = createHmac("sha256", secret)
        const expected = hmac.update(`${request?.headers["x-webhook-timestamp"]}.${request?.raw}`).digest("hex")
        return request?.headers["x-webhook-signature"] === `sha256=${expected}`
      })

    // From before: stored as they are.
    const plain = yield* ServerProcess.start(options({}))
    const made = yield* ApiClient.make(plain.url, keys.org).post("/v1/webhooks", { url: receiver.url, events: ["*"] })
    const [id, secret] = [textAt(made.body, "webhook.id"), textAt(made.body, "secret")]
    expect(yield* stored).toContain(secret)
    yield* plain.signal("SIGTERM")
    yield* plain.exit()

    const server = yield* ServerProcess.start(options({ SVC_SECRET_KEY: first }))
    const project = ApiClient.make(server.url, keys.project)
    const agent = yield* project.post("/v1/agents", {
      name: "Reception",
      server_url: receiver.url,
      webhook_url: receiver.url
    })
    const agentSecret = textAt(agent.body, "server_secret")
    expect(at(agent.body, "agent.server_secret_hint")).toBe(`...${agentSecret.slice(-8)}`)
    expect(yield* isTestSigned(server.url, id, secret)).toBe(true)
    const env = { SVC_DATABASE_URL: Redacted.value(database) }
    expect(yield* SvcProcess.run(["secrets", "rotate", "--json"], { ...env, SVC_SECRET_KEY: first })).toMatchObject({
      code: 0
    })
    const encrypted = yield* stored
    expect(encrypted.filter((text) => !text.startsWith("enc:v1:"))).toEqual([])
    expect(yield* isTestSigned(server.url, id, secret)).toBe(true)
    const rotated = yield* ApiClient.make(server.url, keys.org).post(`/v1/webhooks/${id}/rotate`)
    expect(yield* isTestSigned(server.url, id, textAt(rotated.body, "secret"))).toBe(true)
    yield* server.signal("SIGTERM")
    yield* server.exit()

    // Without the key nothing starts.
    for (const wrong of [{}, { SVC_SECRET_KEY: second }]) {
      const { code, errors } = yield* SvcProcess.run(["serve", "--dev"], { ...env, ...wrong, SVC_PORT: "0" })
      expect([code, errors]).toEqual([1, expect.stringContaining(String(encrypted[0]?.split(":")[2]))])
      expect(errors).toContain("SVC_SECRET_KEY_PREVIOUS")
    }
    const both = { SVC_SECRET_KEY: second, SVC_SECRET_KEY_PREVIOUS: first }
    expect((yield* SvcProcess.run(["secrets", "rotate"], { ...env, ...both })).code).toBe(0)
    const last = yield* ServerProcess.start(options({ SVC_SECRET_KEY: second }))
    expect(yield* isTestSigned(last.url, id, textAt(rotated.body, "secret"))).toBe(true)
    const seen = yield* ApiClient.make(last.url, keys.project).get(
      `/v1/agents/${textAt(agent.body, "agent.public_id")}`
    )
    expect(at(seen.body, "agent.server_secret_hint")).toBe(`...${agentSecret.slice(-8)}`)
  })
)
