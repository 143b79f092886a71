import { expect, it } from "@effect/vitest"
import type { TranscriptUpdatedRequest } from "@svc/api/callbacks/CallStarted"
import { Deferred, Effect, FiberSet } from "effect"
import { ServerRequestFailed } from "../../src/agent-server/AgentServerClient.ts"
import * as TranscriptUpdates from "../../src/agent-server/TranscriptUpdates.ts"

const turn = (n: number): TranscriptUpdatedRequest => ({
  event: "transcript.updated",
  call_id: "call_1",
  role: "user",
  content: String(n),
  timestamp: n
})

const make = (send: (body: TranscriptUpdatedRequest) => Effect.Effect<void, ServerRequestFailed>) =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)<never>()
    return { updates: TranscriptUpdates.make(send, (effect) => void run(effect)), done: FiberSet.awaitEmpty(fibers) }
  })

it.scoped("transcript.updated reaches a slow server one at a time and in order", () =>
  Effect.gen(function* () {
    const received: Array<string> = []
    let open = 0
    let most = 0
    const { done, updates } = yield* make((body) =>
      Effect.gen(function* () {
        most = Math.max(most, ++open)
        // The first takes longest: were they sent side by side, it would come last.
        yield* Effect.yieldNow().pipe(Effect.repeatN(20 - body.timestamp))
        received.push(body.content)
        open--
      })
    )
    for (let n = 0; n < 10; n++) updates.send(turn(n))
    yield* done
    expect(received).toEqual(Array.from({ length: 10 }, (_, n) => String(n)))
    expect(most).toBe(1)
    updates.send(turn(10))
    yield* done
    expect(received.length).toBe(11)
  })
)

it.scoped("a server that fails still gets the next transcript.updated", () =>
  Effect.gen(function* () {
    const received: Array<string> = []
    const { done, updates } = yield* make((body) => {
      received.push(body.content)
      return Effect.fail(new ServerRequestFailed({ cause: "closed", reason: "status 500" }))
    })
    for (let n = 0; n < 3; n++) updates.send(turn(n))
    yield* done
    expect(received).toEqual(["0", "1", "2"])
  })
)

it.scoped("at most 50 transcript.updated requests wait for a server that hangs, the newest ones", () =>
  Effect.gen(function* () {
    const received: Array<string> = []
    const gate = yield* Deferred.make<void>()
    const { done, updates } = yield* make((body) => {
      received.push(body.content)
      return Deferred.await(gate)
    })
    updates.send(turn(0))
    yield* Effect.yieldNow()
    for (let n = 1; n <= 80; n++) updates.send(turn(n))
    yield* Deferred.succeed(gate, undefined)
    yield* done
    expect(received).toEqual(["0", ...Array.from({ length: 50 }, (_, n) => String(n + 31))])
  })
)
