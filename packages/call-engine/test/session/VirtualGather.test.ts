import { describe, expect, it } from "@effect/vitest"
import type { CallStartedRequest, ToolCallRequest } from "@svc/api/callbacks/CallStarted"
import { replay } from "@svc/conversation/Replay"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { mulaw8k } from "@svc/providers/Audio"
import { ConfigProvider, type Duration, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "../doubles/Engine.ts"
import { agent, caller, type Log, memory } from "../doubles/VirtualPhone.ts"

/** Keypad input in whole calls, with real audio, in virtual time. */

const pre_gather = { prompt: "Press one or two.", timeout: 3, max_retries: 1 }
const script = {
  rules: [
    { user: "pin", tool: "check" },
    { tool_result: "check", say: "Thanks." }
  ],
  otherwise: "Ok."
}
const check = { name: "check", gather: { prompt: "Your pin please.", max_digits: 4, timeout_seconds: 5 } }
const plain = configuration(script, { tools: [check], dtmf_actions: { "1": "sales" } }).json

interface Call {
  readonly log: Log
  readonly started: Array<CallStartedRequest>
  readonly tools: Array<ToolCallRequest>
  readonly session: PhoneSession.PhoneSession
  readonly wait: (time: Duration.DurationInput) => Effect.Effect<void>
  readonly press: (keys: string, source?: "rfc4733" | "in-band" | "signaling") => Effect.Effect<void>
  readonly say: (text: string) => Effect.Effect<void>
  readonly hangup: Effect.Effect<void>
}

/** Makes a call, runs the test's actions, and hangs up. Its journal must replay without a difference. */
const during = (
  answer: (body: CallStartedRequest) => unknown,
  act: (call: Call) => Effect.Effect<void>
): Effect.Effect<Call & { readonly outcome: string }> =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], transcript: [] }
    const started: Array<CallStartedRequest> = []
    const tools: Array<ToolCallRequest> = []
    const server = memory(log, {
      callStarted: (body) =>
        Effect.as(
          Effect.sleep("80 millis"),
          (() => {
            started.push(body)
            return answer(body)
          })()
        ),
      toolCall: (body) =>
        Effect.sync(() => {
          tools.push(body)
          return "ok"
        })
    })
    const call = Effect.scoped(
      Effect.gen(function* () {
        const time = yield* VirtualTime
        const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const speaking = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const services = yield* phoneServices((effect) => void background(effect))
        const { hangup, connection, press, say } = yield* caller
        const session = yield* PhoneSession.make(services, { id: 1, connection, agent, facts, formats: [mulaw8k] })
        const made: Call = {
          log,
          started,
          tools,
          session,
          wait: time.advance,
          press,
          say: (text) => Effect.sync(() => void speaking(say(text))),
          hangup
        }
        yield* time.advance("100 millis")
        yield* act(made)
        yield* hangup
        const state = yield* session.over
        const replayed = replay(JSON.parse(JSON.stringify(log.rows)))
        expect(replayed?.differing).toEqual([])
        expect(replayed?.state.outcome).toEqual(state?.outcome)
        return { ...made, outcome: `${state?.outcome?.status} ${state?.outcome?.ended_reason}` }
      })
    )
    return yield* call.pipe(
      Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))),
      Effect.orDie
    )
  })

const dataOf = (call: Pick<Call, "log">, event: string): ReadonlyArray<unknown> =>
  call.log.events.flatMap((e) => (e.event === event ? [e.data] : []))

describe("a call with pre_gather", () => {
  it.live("sends call.started twice, the second time with gathered_digit, and uses the second answer", () =>
    Effect.gen(function* () {
      const call = yield* during(
        (body) => (body.gather_status === null ? { pre_gather } : plain),
        ({ press, say, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* press("2")
            yield* wait("2 seconds")
            yield* say("Hi")
            yield* wait("3 seconds")
          })
      )
      const nothing = { gathered_digit: null, gathered_input: null, gather_status: null }
      expect(call.started).toMatchObject([
        nothing,
        { gathered_digit: "2", gathered_input: "2", gather_status: "valid", call_id: facts.call_id }
      ])
      expect(call.log.transcript).toEqual([
        "assistant: Press one or two.",
        "assistant: Hello.",
        "user: Hi",
        "assistant: Ok."
      ])
      expect(dataOf(call, "call.gather.completed")).toMatchObject([{ status: "completed", input: "2" }])
      expect(dataOf(call, "call.dtmf.received")).toMatchObject([{ digit: "2", action: "gather" }])
      expect(call.log.events.filter((e) => e.event === "call.started").length).toBe(1)
      expect(call.outcome).toBe("completed caller-hangup")
    })
  )

  it.live("repeats the prompt for a caller who types nothing, then sends gather_status timeout", () =>
    Effect.gen(function* () {
      const call = yield* during(
        (body) => (body.gather_status === null ? { pre_gather } : plain),
        ({ wait }) => wait("15 seconds")
      )
      expect(call.started.at(-1)).toMatchObject({
        gathered_digit: null,
        gathered_input: null,
        gather_status: "timeout"
      })
      expect(call.log.transcript).toEqual([
        "assistant: Press one or two.",
        "assistant: Press one or two.",
        "assistant: Hello."
      ])
    })
  )

  it.live.each([
    ["has no system_prompt", { first_message: "Hi." }],
    ["asks for a menu again", { pre_gather }],
    ["is no object", "hello"]
  ])("is over, and failed, when the second answer %s", ([, second]) =>
    Effect.gen(function* () {
      const call = yield* during(
        (body) => (body.gather_status === null ? { pre_gather } : second),
        ({ press, wait }) => Effect.zipRight(press("1"), wait("1 second"))
      )
      expect(call.started.length).toBe(2)
      expect(call.outcome).toBe("failed error")
    })
  )

  it.live("that is invalid is ignored, and the call continues without it", () =>
    Effect.gen(function* () {
      const call = yield* during(
        () => ({ ...plain, pre_gather: { digits: 2 } }),
        ({ wait }) => wait("2 seconds")
      )
      expect(call.started.length).toBe(1)
      expect(call.log.transcript).toEqual(["assistant: Hello."])
    })
  )
})

describe("digits in a call", () => {
  it.live("count once when they arrive as events and as tones, and go to the tool that gathers them", () =>
    Effect.gen(function* () {
      const call = yield* during(
        () => plain,
        ({ press, say, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("pin")
            yield* wait("3 seconds")
            for (const key of "1234") {
              yield* press(key, "rfc4733")
              yield* wait("60 millis")
              yield* press(key, "in-band")
              yield* wait("60 millis")
            }
            yield* wait("2 seconds")
          })
      )
      expect(call.tools).toMatchObject([
        { name: "check", arguments: { gathered_input: "1234", gather_status: "valid" } }
      ])
      expect(dataOf(call, "call.dtmf.received").length).toBe(4)
      expect(call.log.transcript.slice(1)).toEqual(["user: pin", "assistant: Your pin please.", "assistant: Thanks."])
    })
  )

  it.live("stop the prompt at once, and its transcript", () =>
    Effect.gen(function* () {
      const call = yield* during(
        () => plain,
        ({ log, press, say, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("pin")
            const begun = () => dataOf({ log }, "ai.speech.started").length === 2
            yield* Effect.repeat(wait("20 millis"), { until: begun })
            yield* wait("400 millis")
            yield* press("12#")
            yield* wait("2 seconds")
          })
      )
      expect(call.tools).toMatchObject([{ arguments: { gathered_input: "12" } }])
      const prompt = call.log.transcript[2] ?? ""
      expect("assistant: Your pin please.".startsWith(prompt)).toBe(true)
      expect(prompt.length).toBeLessThan("assistant: Your pin please.".length)
    })
  )

  it.live("are collected by one gather at a time, and by none before the answer or after the end", () =>
    Effect.gen(function* () {
      const rules = {
        prompt: "Type.",
        voice: "female",
        language: "en-US",
        max_digits: 3,
        terminator: "#",
        timeout_seconds: 5
      }
      const answers: Array<string> = []
      const call = yield* during(
        () => plain,
        ({ press, session, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            for (let i = 0; i < 50; i++) answers.push(session.gather(rules))
            yield* wait("2 seconds")
            yield* press("123")
            answers.push(session.gather(rules))
            yield* wait("20 seconds")
          })
      )
      answers.push(call.session.gather(rules))
      const refused = new Array<string>(49).fill("already-active")
      expect(answers).toEqual(["accepted", ...refused, "accepted", "not-in-progress"])
      expect(dataOf(call, "call.gather.completed")).toMatchObject([
        { status: "completed", input: "123" },
        { status: "timeout", input: null }
      ])
    })
  )
})
