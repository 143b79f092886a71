import { expect, it } from "@effect/vitest"
import { callTimeline } from "@svc/api/testing/CallFixtures"
import { Deferred, Effect, Fiber } from "effect"
import type { RenderedCall } from "../../../src/http/debug-page/DebugPage.ts"
import { stream } from "../../../src/http/debug-page/DebugStream.ts"
import type { Snapshot } from "../../../src/http/debug-page/DebugWatch.ts"

const link = { id: 1, scope: "full", call: { id: 1, public_id: callTimeline().call.call_id, project_id: 1 } } as const

const snapshot = (text: string, isEnded = false): Snapshot => {
  const content: RenderedCall = { top: text, rest: "", json: { top: text, rest: "" } }
  const ended_at = isEnded ? "2026-11-01T09:31:00.000Z" : null
  return {
    open: new Set([1]),
    timeline: callTimeline({}, { ended_at }),
    content: () => Effect.succeed(content),
    version: text
  }
}

it.effect("a client that does not read gets nothing until it reads again, and then the newest content", () =>
  Effect.gen(function* () {
    const pushed: Array<string> = []
    let isBehind = false
    let current = snapshot("one")
    let pulse = yield* Deferred.make<void>()
    const tick = (next: Snapshot) =>
      Effect.gen(function* () {
        const before = pulse
        current = next
        pulse = yield* Deferred.make<void>()
        yield* Deferred.succeed(before, undefined)
        yield* Effect.yieldNow({ priority: 1 })
      })
    const watched = {
      latest: () => current,
      next: Effect.map(
        Effect.suspend(() => Deferred.await(pulse)),
        () => current
      )
    }
    const writer = {
      write: () => Effect.void,
      push: (piece: string | Uint8Array) => void pushed.push(String(piece)),
      isBehind: () => isBehind,
      isStopping: () => false
    }
    const fiber = yield* Effect.fork(stream(watched, link, "/debug/calls/x", writer))
    yield* Effect.yieldNow({ priority: 1 })
    isBehind = true
    for (const text of ["two", "three", "four"]) yield* tick(snapshot(text))
    expect(pushed).toEqual([`data: "one"\n\n`])
    isBehind = false
    for (let i = 0; i < 4; i++) yield* tick(snapshot("five", true))
    yield* Fiber.join(fiber)
    expect(pushed).toEqual([`data: "one"\n\n`, `data: "five"\n\n`, "event: over\ndata: {}\n\n"])
  })
)
