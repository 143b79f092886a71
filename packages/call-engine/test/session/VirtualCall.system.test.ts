import { describe, expect, it } from "@effect/vitest"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { mulaw8k } from "@svc/providers/Audio"
import { ConfigProvider, type Duration, Effect, Fiber, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "../doubles/Engine.ts"
import { agent, caller, type Log, memory, type VirtualServer } from "../doubles/VirtualPhone.ts"

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

/** A call in which the caller says texts, for a given time or until it ends. */
const phoned = (
  talk: (say: (text: string) => Effect.Effect<void>) => Effect.Effect<void>,
  length: Duration.DurationInput
) => {
  const log: Log = { rows: [], events: [], transcript: [] }
  return Effect.scoped(
    Effect.gen(function* () {
      const time = yield* VirtualTime
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const services = yield* phoneServices((effect) => void background(effect))
      const { frames, hangup, connection, say } = yield* caller
      const session = yield* PhoneSession.make(services, { id: 1, connection, agent, facts, formats: [mulaw8k] })
      yield* Effect.forkScoped(talk((text) => Effect.orDie(say(text))))
      const over = yield* Effect.fork(session.over)
      yield* time.advance(length)
      yield* hangup
      yield* time.advance("10 seconds")
      const state = yield* Fiber.join(over)
      return { state, frames: frames(), log }
    })
  ).pipe(
    Effect.provide(Layer.mergeAll(memory(log, server), VirtualTime.layer(facts.started_at))),
    Effect.provide(PluginLoader.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
  )
}

/** Half an hour on the phone: the caller speaks every 20 seconds, often over the agent. */
const halfAnHour = phoned(
  (say) =>
    Effect.forever(
      Effect.gen(function* () {
        yield* Effect.sleep("15 seconds")
        yield* say("Hello")
        yield* Effect.sleep("2 seconds")
        yield* say("No")
        yield* Effect.sleep("8 seconds")
        yield* say("look")
      })
    ),
  "31 minutes"
)

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

  it.live("hears every word of a caller who speaks for ten seconds without a pause, also over the agent", () =>
    Effect.gen(function* () {
      const story = "I would like to tell you a story about a man who went to sea and did not come home again, and "
      const long = `${story}${story}so on`
      const { state } = yield* phoned(
        (say) =>
          Effect.sleep("3 seconds").pipe(
            Effect.zipRight(say(long)),
            // The agent repeats it all, and is interrupted.
            Effect.zipRight(Effect.sleep("18 seconds")),
            Effect.zipRight(say(long))
          ),
        "1 minute"
      )
      expect(state?.transcript.flatMap(({ content, role }) => (role === "user" ? [content] : []))).toEqual([long, long])
    })
  )
})
