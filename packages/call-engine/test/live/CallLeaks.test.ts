import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Exit, Fiber, Logger, LogLevel, Scope } from "effect"
import { LiveCalls } from "../../src/live/LiveCalls.ts"
import { Ticker } from "../../src/media/Ticker.ts"
import { agentOnNumber, configuration, dial, node, until } from "../doubles/Engine.ts"

/**
 * The running timers. The pool of the test has one for each idle connection, so all its connections are made idle
 * first.
 */
const timers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.all(
    Array.from({ length: 5 }, () => sql`select pg_sleep(0.05)`),
    { concurrency: 5, discard: true }
  )
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length
})
const fibers = Effect.sync(() => Fiber.unsafeRoots().length)

const script = {
  rules: [{ user: "go", tool: "slow" }],
  otherwise: "Once upon a time there was a king with a very long beard."
}
const slow = { name: "slow", description: "Never answers", timeout_seconds: 30 }

it.scopedLive("calls that end in any way leave no fiber, timer, socket or audio behind, nor does the engine", () =>
  Effect.gen(function* () {
    const timersBefore = yield* timers
    const fibersBefore = yield* fibers
    const scope = yield* Scope.make()
    const context = yield* Scope.extend(node, scope)
    const live = Context.get(context, LiveCalls)
    const { wheel } = Context.get(context, Ticker)

    const servers: Array<() => number> = []
    const open = (answer: Parameters<typeof agentOnNumber>[0]) =>
      Effect.tap(Effect.provide(agentOnNumber(answer), context), ({ server }) => servers.push(server.connections))
    const talking = yield* open((request) =>
      request.event === "tool.call"
        ? undefined
        : configuration(script, { first_message: "Hi.", tools: [slow], end_session_message: "Bye." })
    )
    const unanswered = yield* open(() => undefined)
    const failing = yield* open(() => configuration({ fail: "hang" }, { first_message: null }))
    const useless = yield* open(() => ({ json: {} }))
    // The fibers and timers of the node itself, before any call.
    yield* Effect.sleep("50 millis")
    const idleFibers = yield* fibers

    const toolCalls = Effect.sync(() => talking.server.received.filter((r) => r.event === "tool.call").length)
    const round = Effect.gen(function* () {
      const asked = yield* toolCalls
      // While the agent speaks, while its tool runs, while its model generates, while it rings, and before it is
      // answered.
      const [speaking, tooling, thinking, ringing, refused] = yield* Effect.all([
        dial(talking.number),
        dial(talking.number),
        dial(failing.number),
        dial(unanswered.number),
        dial(useless.number)
      ]).pipe(Effect.provide(context))
      yield* refused.until("hangup")
      yield* Effect.forEach([speaking, tooling, thinking], (p) => p.until("answered"))
      speaking.send({ event: "say", text: "Yo" })
      tooling.send({ event: "say", text: "go" })
      thinking.send({ event: "say", text: "Yo" })
      yield* speaking.next((m) => m.event === "heard" && m.text.startsWith("Once"))
      yield* until(toolCalls, (n) => n > asked)
      yield* ringing.until("ringing")
      speaking.send({ event: "hangup" })
      tooling.close()
      thinking.close()
      ringing.close()
      yield* until(live.count, (n) => n === 0)
    })
    yield* round
    yield* round

    expect(wheel.idle).toBe(true)
    yield* until(fibers, (n) => n <= idleFibers)
    // The requests that were given up are closed; what is left is kept alive for the next call.
    yield* until(
      Effect.sync(() => servers.map((connections) => connections())),
      ([talk, silent]) => (talk ?? 0) <= 4 && silent === 0
    )

    // One more call is live when the engine ends.
    const last = yield* Effect.provide(dial(talking.number), context)
    yield* last.hears(/^Hi\.$/)
    yield* Scope.close(scope, Exit.void)
    expect(last.messages.at(-1)).toEqual({ event: "hangup", cause: "agent-hangup" })
    for (const connections of servers) yield* until(Effect.sync(connections), (n) => n === 0)
    expect(wheel.idle).toBe(true)
    yield* until(fibers, (n) => n <= fibersBefore)
    yield* until(timers, (n) => n <= timersBefore)
  }).pipe(Effect.timeout("25 seconds"), Effect.provide(TestDatabase.layer), Logger.withMinimumLogLevel(LogLevel.None))
)
