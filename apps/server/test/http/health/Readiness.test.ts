import { describe, expect, it } from "@effect/vitest"
import { FaultRegister, PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { healthy } from "@svc/providers/Health"
import { Clock, Effect } from "effect"
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

  it.scopedLive("/readyz counts the uncaught errors of plugins under warnings, in the 200 and in the 503 form", () =>
    Effect.gen(function* () {
      const register = new FaultRegister()
      const health = register.health("house", Effect.succeed(healthy))
      const check = Effect.map(health, (is) => [{ part: "telephony house", health: is }])
      const { port } = yield* Effect.provideService(startTiny({ readiness: { check } }), PluginFaults, register)
      const ready = Effect.map(ask(port, { path: "/readyz" }), (answer) => [answer.status, json(answer)["warnings"]])
      expect(yield* ready).toEqual([200, undefined])
      const now = yield* Clock.currentTimeMillis
      register.record("house", now)
      expect(yield* ready).toEqual([200, ["plugin house: 1 uncaught error since the start"]])
      for (let count = 2; count <= 7; count++) register.record("house", now)
      expect(yield* ready).toEqual([503, ["plugin house: 7 uncaught errors since the start"]])
    })
  )
})
