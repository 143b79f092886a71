import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { Effect } from "effect"
import { ask, json } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

describe("health and readiness", () => {
  it.scopedLive("need no key", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({
        readiness: { check: Effect.succeed([{ part: "database", health: healthy }]) }
      })
      expect(json(yield* ask(port, { path: "/healthz" }))).toEqual({ status: "ok" })
      expect(json(yield* ask(port, { path: "/readyz" }))).toEqual({ status: "ok", parts: ["database"] })
    })
  )

  it.scopedLive("/readyz names a failing part, while /healthz still answers 200", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({
        readiness: {
          check: Effect.succeed([
            { part: "database", health: { healthy: false, reason: "cannot be reached" } },
            { part: "telephony tin", health: healthy }
          ])
        }
      })
      const answer = yield* ask(port, { path: "/readyz" })
      expect(answer.status).toBe(503)
      expect(json(answer)).toMatchObject({
        code: "UNAVAILABLE",
        message: "Not ready: database: cannot be reached",
        details: { database: "cannot be reached" }
      })
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )
})
