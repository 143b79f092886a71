import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { ConfigProvider, Effect, Layer } from "effect"
import { Deliveries } from "../src/Deliveries.ts"
import { signatureOf } from "../src/Signature.ts"
import { Webhooks } from "../src/Webhooks.ts"
import { account, appendEvents, freshUrl, historyOf, requestsTo, until, WithWorker } from "./Fixture.ts"

const key = ConfigProvider.fromMap(new Map([["SVC_SECRET_KEY", "a".repeat(64)]]))
// Not setConfigProvider, which would hide the test database from the layers built after it.
const encryption = Layer.effectContext(Effect.withConfigProvider(Effect.scoped(Layer.build(StoredSecrets.layer)), key))
const Encrypted = Layer.provide(WithWorker, encryption)

const subscribed = Effect.gen(function* () {
  const owner = yield* account
  const webhooks = yield* Webhooks
  const org = { org_id: owner.org_id, project_id: null }
  return { owner, org, webhook: yield* webhooks.create(org, { url: freshUrl(), events: ["*"], filters: {} }) }
})

layer(Encrypted, { excludeTestServices: true })("a webhook whose secret is encrypted", (it) => {
  it.effect("signs its deliveries with the secret that its creation and its rotation returned", () =>
    Effect.gen(function* () {
      const { org, owner, webhook } = yield* subscribed
      const webhooks = yield* Webhooks
      const sql = yield* SqlClient.SqlClient
      const rotated = yield* Effect.cached(webhooks.rotate(org, String(webhook.id)))
      for (const [count, row] of [
        [1, Effect.succeed(webhook)],
        [2, rotated]
      ] as const) {
        const { secret } = yield* row
        expect(secret).toMatch(/^[0-9a-f]{64}$/)
        const [stored] = yield* sql<{ readonly secret: string }>`select secret from webhooks where id = ${webhook.id}`
        expect(stored?.secret).toMatch(/^enc:v1:/)
        yield* appendEvents(owner, ["one"])
        const requests = yield* until(requestsTo(webhook.url), (all) => all.length === count)
        const { body, headers } = requests[count - 1] ?? expect.fail("no request")
        expect(headers["x-webhook-signature"]).toBe(signatureOf(secret, Number(headers["x-webhook-timestamp"]), body))
      }
    })
  )

  it.effect("sends nothing while its key is missing: its deliveries become dead letters that name the key", () =>
    Effect.gen(function* () {
      const { owner, webhook } = yield* subscribed
      const deliveries = yield* Deliveries
      const sql = yield* SqlClient.SqlClient
      const beside = yield* Effect.flatMap(Webhooks, (all) =>
        all.create({ org_id: owner.org_id, project_id: null }, { url: freshUrl(), events: ["*"], filters: {} })
      )
      yield* sql`update webhooks set secret = 'enc:v1:0badc0de:AAAA' where id = ${webhook.id}`
      yield* appendEvents(owner, ["one"])
      const dead = Effect.map(
        deliveries.deadLetters(historyOf(webhook.id), { limit: 10, after: undefined }),
        ({ items }) => items
      )
      const [letter] = yield* until(dead, (all) => all.length === 1)
      expect(letter?.last_error).toContain("0badc0de")
      expect(letter?.last_error).toContain("SVC_SECRET_KEY")
      expect(yield* requestsTo(webhook.url)).toEqual([])
      yield* until(requestsTo(beside.url), (all) => all.length === 1)
    })
  )
})
