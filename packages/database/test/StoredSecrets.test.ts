import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Either, Layer } from "effect"
import { checkKeys, reencrypt } from "../src/SecretRotation.ts"
import { keyIdOf, type SecretBox, StoredSecrets } from "../src/StoredSecrets.ts"
import { TestDatabase } from "../src/TestDatabase.ts"

const [a, b] = ["a".repeat(64), Buffer.alloc(32, 7).toString("base64")]

const configured = (key: string, previous = "") =>
  Layer.provide(
    StoredSecrets.layer,
    Layer.setConfigProvider(
      ConfigProvider.fromMap(
        new Map(
          Object.entries({ SVC_SECRET_KEY: key, SVC_SECRET_KEY_PREVIOUS: previous }).filter(([, text]) => text !== "")
        )
      )
    )
  )
const boxWith = (key: string, previous = ""): Effect.Effect<SecretBox, unknown> =>
  Effect.scoped(Effect.map(Layer.build(configured(key, previous)), (context) => Context.get(context, StoredSecrets)))

describe("StoredSecrets", () => {
  it.effect("encrypts a secret anew each time, and decrypts it in its own row only", () =>
    Effect.gen(function* () {
      const box = yield* boxWith(a)
      const [first, second] = [box.seal("secret", "webhooks.secret:1"), box.seal("secret", "webhooks.secret:1")]
      expect(first).toMatch(/^enc:v1:[0-9a-f]{8}:[A-Za-z0-9_-]+$/)
      expect(first).not.toBe(second)
      expect(first).not.toContain("secret")
      expect(box.open(first, "webhooks.secret:1")).toEqual(Either.right("secret"))
      for (const place of ["webhooks.secret:2", "agents.server_secret:1"] as const) {
        expect(Either.isLeft(box.open(first, place))).toBe(true)
      }
      const altered = `${first.slice(0, -2)}${first.endsWith("AA") ? "BB" : "AA"}`
      for (const text of [altered, first.slice(0, 30), "enc:v1:"]) {
        expect(Either.isLeft(box.open(text, "webhooks.secret:1")), text).toBe(true)
      }
    })
  )

  it.effect("stores secrets as they are without SVC_SECRET_KEY, and reads those from before with it", () =>
    Effect.gen(function* () {
      expect((yield* boxWith("")).seal("plain", "webhooks.secret:1")).toBe("plain")
      expect((yield* boxWith(a)).open("plain", "webhooks.secret:1")).toEqual(Either.right("plain"))
    })
  )

  it.effect("decrypts with keys of SVC_SECRET_KEY_PREVIOUS, and names a key that it does not have", () =>
    Effect.gen(function* () {
      const sealed = (yield* boxWith(a)).seal("secret", "webhooks.secret:1")
      for (const box of [yield* boxWith(b, `${b}, ${a}`), yield* boxWith("", a)]) {
        expect(box.open(sealed, "webhooks.secret:1")).toEqual(Either.right("secret"))
      }
      const refused = (yield* boxWith(b)).open(sealed, "webhooks.secret:1")
      const message = Either.match(refused, { onLeft: (error) => error.message, onRight: () => "" })
      for (const word of [String(keyIdOf(sealed)), "SVC_SECRET_KEY", "webhooks.secret:1"])
        expect(message).toContain(word)
    })
  )

  it.effect("refuses a key that is not 32 bytes, without repeating it", () =>
    Effect.gen(function* () {
      for (const key of ["short", "g".repeat(64), "a".repeat(62), `${a},${b}`]) {
        const error = String(yield* Effect.flip(boxWith(key)))
        expect(error).toContain("SVC_SECRET_KEY")
        expect(error).not.toContain(key)
      }
    })
  )
})

layer(TestDatabase.layer)("the rotation of stored secrets", (it) => {
  it.effect("encrypts plain ones and those of a previous key, and fails for those whose key is missing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into organizations (public_id, name, tier) values ('org_1', 'Acme', 'payg')`
      yield* sql`
        insert into webhooks (org_id, url, events, secret, api_version)
        select id, 'https://example.com', array['*'], 'plain ' || n, '2026-11-01'
        from organizations, generate_series(1, 1200) n`
      const secrets = Effect.map(
        sql<{ readonly id: number; readonly secret: string }>`select id, secret from webhooks order by id`,
        (rows) => rows
      )
      const before = yield* secrets
      const [older, newer] = [yield* boxWith(a), yield* boxWith(b)]
      expect(yield* Effect.provide(checkKeys, configured(a))).toContain("1200 are not")
      expect(yield* Effect.provide(reencrypt, configured(a))).toBe(1200)
      expect(yield* Effect.provide(reencrypt, configured(a))).toBe(0)
      for (const run of [Effect.asVoid(checkKeys), Effect.asVoid(reencrypt)]) {
        const error = yield* Effect.flip(Effect.provide(run, configured(b)))
        expect(error).toMatchObject({
          _tag: "SecretKeyMissing",
          message: expect.stringContaining(String(older.currentKey))
        })
      }
      expect((yield* Effect.flip(Effect.provide(reencrypt, configured("", a)))).message).toContain(
        "SVC_SECRET_KEY is not set"
      )
      expect(yield* Effect.provide(reencrypt, configured(b, a))).toBe(1200)
      const after = yield* secrets
      expect(after.map(({ id, secret }) => Either.getOrThrow(newer.open(secret, `webhooks.secret:${id}`)))).toEqual(
        before.map(({ secret }) => secret)
      )
      expect(yield* Effect.provide(checkKeys, configured(b))).toContain("1200 signing secrets are encrypted, 0 are not")
    })
  )
})
