import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import * as PluginLoader from "@svc/providers/PluginLoader"
import { ConfigProvider, Effect, Fiber, FiberSet, Layer } from "effect"
import { VirtualTime } from "../src/media/VirtualTime.ts"
import * as CallSession from "../src/session/CallSession.ts"
import { sessionServices } from "../src/session/SessionServices.ts"
import { configuration } from "./Engine.ts"
import { facts } from "./Script.ts"
import { agent, caller, type Log, memory, type VirtualServer } from "./VirtualPhone.ts"

const answer = configuration(
  {
    rules: [
      { user: "look", tool: "lookup", arguments: {} },
      { tool_result: "lookup", say: "Found {{result.n}}." }
    ],
    otherwise: "You said {{user}}. Is there anything else that I can do for you today?",
    first_token_ms: 200
  },
  { tools: [{ name: "lookup" }], end_session_message: "Time is up." }
).json

const server: VirtualServer = {
  callStarted: () => Effect.as(Effect.sleep("80 millis"), answer),
  toolCall: () => Effect.as(Effect.sleep("350 millis"), { n: 7 })
}

/** Half an hour on the phone: something is said every 20 seconds, often over the agent. */
const halfAnHour = Effect.gen(function* () {
  const log: Log = { rows: [], events: [], told: [] }
  const minutes = yield* Effect.scoped(
    Effect.gen(function* () {
      const time = yield* VirtualTime
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const services = yield* sessionServices((effect) => void background(effect))
      const { frames, incoming, say } = yield* caller
      const session = yield* CallSession.make(services, { id: 1, incoming, agent, facts, formats: [mulaw8k] })
      const talk = Effect.forever(
        Effect.gen(function* () {
          yield* Effect.sleep("15 seconds")
          yield* say("Hello")
          yield* Effect.sleep("2 seconds")
          yield* say("No")
          yield* Effect.sleep("8 seconds")
          yield* say("look")
        })
      )
      yield* Effect.forkScoped(talk)
      const over = yield* Effect.fork(session.over)
      yield* time.advance("31 minutes")
      const state = yield* Fiber.join(over)
      return { state, frames: frames(), at: time.now() }
    })
  ).pipe(
    Effect.provide(Layer.mergeAll(memory(log, server), VirtualTime.layer(facts.started_at))),
    Effect.provide(PluginLoader.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
  )
  return { ...minutes, log }
})

describe("virtual time", () => {
  it.live(
    "passes half an hour of a call in seconds, with the same log each time",
    () =>
      Effect.gen(function* () {
        const first = yield* halfAnHour
        expect(first.state?.outcome).toEqual({ status: "completed", disposition: "answered", ended_reason: "timeout" })
        expect(first.state?.transcript.length).toBeGreaterThan(200)
        expect(first.log.events.filter((e) => e.event === "barge_in").length).toBeGreaterThan(20)
        expect(first.log.events.filter((e) => e.event === "tool.completed").length).toBeGreaterThan(40)
        expect(first.frames).toBeGreaterThan(10_000)
        const second = yield* halfAnHour
        expect(JSON.stringify(second.log)).toBe(JSON.stringify(first.log))
      }),
    120_000
  )
})
