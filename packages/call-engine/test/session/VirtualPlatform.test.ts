import { describe, expect, it } from "@effect/vitest"
import { recordOf } from "@svc/conversation/CallRecord"
import type { CommandOf } from "@svc/conversation/Command"
import { replay } from "@svc/conversation/Replay"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { mulaw8k } from "@svc/providers/Audio"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, type Context, type Duration, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { MessageFailed } from "../../src/session/CallMessages.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "../doubles/Engine.ts"
import { agent, caller, type Log, memory } from "../doubles/VirtualPhone.ts"

/** Extraction and text messages, which the platform does itself, in whole calls in virtual time. */

type Model = Context.Tag.Service<LanguageModel>

interface Call {
  readonly log: Log
  readonly texts: Array<CommandOf<"SendSms">>
  readonly tools: Array<string>
  readonly session: PhoneSession.PhoneSession
  readonly say: (text: string) => Effect.Effect<void>
  readonly hangup: Effect.Effect<void>
  readonly wait: (time: Duration.DurationInput) => Effect.Effect<void>
}

interface Options {
  readonly sendSms?: (sms: CommandOf<"SendSms">) => Effect.Effect<string, MessageFailed>
  /** Models that are asked before the scripted one. */
  readonly models?: ReadonlyArray<Model>
}

/** Makes a call, runs the test's actions, and waits for its end. Its journal must replay without a difference. */
const during = (answer: unknown, act: (call: Call) => Effect.Effect<void>, options: Options = {}) =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], transcript: [] }
    const texts: Array<CommandOf<"SendSms">> = []
    const tools: Array<string> = []
    const server = memory(log, {
      callStarted: () => Effect.succeed(answer),
      toolCall: (body) =>
        Effect.sync(() => {
          tools.push(body.name)
          return "ok"
        }),
      sendSms: (sms) => {
        texts.push(sms)
        return options.sendSms?.(sms) ?? Effect.succeed("sms_1")
      }
    })
    return yield* Effect.gen(function* () {
      const time = yield* VirtualTime
      const providers = yield* Providers
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const languageModel = [...(options.models ?? []), ...providers.languageModel]
      const services = yield* phoneServices((effect) => void background(effect)).pipe(
        Effect.provideService(Providers, { ...providers, languageModel })
      )
      const speaking = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const { hangup, connection, say } = yield* caller
      const session = yield* PhoneSession.make(services, { id: 1, connection, agent, facts, formats: [mulaw8k] })
      const call: Call = {
        log,
        texts,
        tools,
        session,
        hangup,
        wait: (duration) => time.advance(duration),
        say: (text) =>
          Effect.zipRight(
            Effect.sync(() => void speaking(say(text))),
            time.advance("1 seconds")
          )
      }
      yield* time.advance("2 seconds")
      yield* act(call)
      yield* Effect.zipRight(hangup, time.advance("20 seconds"))
      const state = yield* session.over
      if (state === undefined) return yield* Effect.dieMessage("the call was abandoned")
      const replayed = replay(JSON.parse(JSON.stringify(log.rows)))
      expect(replayed?.differing).toEqual([])
      expect(replayed?.state.extracted).toEqual(state.extracted)
      return { ...call, state, record: recordOf(state) }
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
    )
  })

const extraction_schema = {
  name: { type: "string", description: "Who called" },
  age: { type: "number" },
  postcode: { type: "string", pattern: "^[0-9]{4} [A-Z]{2}$" }
}
const script = {
  rules: [
    {
      user: "text me",
      tool: "svc_send_sms",
      arguments: { to: "{{from}}", message: "Your code is 7.", sender_name: "" }
    },
    { tool_result: "svc_send_sms", say: "I did: {{result.status}}{{result.error}}." },
    { user: "look", tool: "lookup" },
    { tool_result: "lookup", say: "Found." }
  ],
  otherwise: "Ok.",
  extract: { name: "I am (\\w+)", age: "(\\d+) years", postcode: "code (\\w+)" }
}

/** A model that gives one answer to every extraction, and fails in conversations, which the next model then answers. */
const extractor = (answer: Effect.Effect<string>): Model => ({
  id: "extractor",
  models: [],
  health: Effect.succeed({ healthy: true }),
  generate: (request, onDelta) =>
    request.responseSchema === undefined
      ? Effect.die("conversations are not mine")
      : Effect.map(answer, (text) => {
          onDelta({ _tag: "Text", text })
          onDelta({ _tag: "Done", reason: "stop" })
        })
})

const lasted = (rows: Log["rows"]): number => {
  const times = rows.flatMap(({ input }) => (input._tag === "Facts" ? [] : [{ tag: input._tag, at: input.at }]))
  const end = times.find(({ tag }) => tag === "CallerHungUp")?.at ?? 0
  return (times.at(-1)?.at ?? 0) - end
}

describe("extracted_data", () => {
  const answer = configuration(script, { extraction_schema }).json

  it.live("is extracted by the language model and validated before the call is settled", () =>
    Effect.gen(function* () {
      const { record } = yield* during(answer, ({ say }) =>
        Effect.zipRight(say("I am Anna"), say("41 years with code 12"))
      )
      expect(record.extracted_data).toEqual({ name: "Anna", age: 41, postcode: null })
      expect(record).toMatchObject({ status: "completed", ended_reason: "caller-hangup" })
    })
  )

  it.live("has null values after ten seconds when the model hangs, and ended_at is when the caller left", () =>
    Effect.gen(function* () {
      const { log, record, state } = yield* during(answer, ({ say }) => say("I am Anna"), {
        models: [extractor(Effect.never)]
      })
      expect(record.extracted_data).toEqual({ name: null, age: null, postcode: null })
      expect(lasted(log.rows)).toBeGreaterThanOrEqual(8_500)
      expect(lasted(log.rows)).toBeLessThan(10_000)
      const hungUp = log.rows.flatMap(({ input }) => (input._tag === "CallerHungUp" ? [input.at] : []))
      expect(state.ended_at).toBe(hungUp[0])
    })
  )

  it.live("comes from the fallback when a model fails or answers no JSON, and from fenced JSON", () =>
    Effect.gen(function* () {
      const failing = extractor(Effect.die("broken"))
      const garbage = extractor(Effect.succeed("I would say { Anna"))
      const fenced = extractor(Effect.succeed('Here:\n```json\n{"name":"Bea","age":7,"more":1}\n```'))
      const { record } = yield* during(answer, ({ say }) => say("I am Anna"), { models: [failing, garbage, fenced] })
      expect(record.extracted_data).toEqual({ name: "Bea", age: 7, postcode: null })
    })
  )

  it.live("has null values when every model fails", () =>
    Effect.gen(function* () {
      const { log, record } = yield* during(
        configuration({ ...script, extract: {} }, { extraction_schema }).json,
        ({ say }) => say("I am Anna"),
        { models: [extractor(Effect.succeed("x".repeat(100_000)))] }
      )
      expect(record.extracted_data).toEqual({ name: null, age: null, postcode: null })
      expect(lasted(log.rows)).toBeLessThan(1000)
    })
  )

  it.live("is awaited while the call can no longer be ended or controlled", () =>
    during(
      answer,
      ({ hangup, session, wait }) =>
        Effect.gen(function* () {
          expect(session.isInProgress()).toBe(true)
          yield* hangup
          yield* wait("1 seconds")
          expect([session.isInProgress(), session.isCompleting()]).toEqual([false, true])
          yield* session.extracting
          session.end("api")
          const rules = {
            prompt: "?",
            voice: null,
            language: null,
            max_digits: 1,
            terminator: "",
            timeout_seconds: 5
          }
          expect(session.gather(rules)).toBe("not-in-progress")
        }),
      { models: [extractor(Effect.never)] }
    )
  )
})

describe("svc_send_sms in a call", () => {
  const answer = configuration(script, {
    tools: [{ name: "svc_send_sms", timeout_seconds: 2 }, { name: "lookup" }]
  }).json

  it.live("sends the message without a request to the agent's server", () =>
    Effect.gen(function* () {
      const { state, texts, tools } = yield* during(answer, ({ say, wait }) =>
        Effect.zipRight(say("text me"), wait("3 seconds"))
      )
      expect(texts).toEqual([
        { _tag: "SendSms", id: expect.any(String), to: facts.from, message: "Your code is 7.", sender_name: null }
      ])
      expect(tools).toEqual([])
      expect(state.transcript.map(({ content }) => content)).toContain("I did: sent.")
    })
  )

  it.live("that is refused, crashes or hangs does not end the call", () =>
    Effect.gen(function* () {
      for (const [sendSms, said] of [
        [() => new MessageFailed({ reason: "refused" }), "I did: refused."],
        [() => Effect.never, "I did: The tool did not answer in time.."]
      ] as const) {
        const { record, state } = yield* during(
          answer,
          ({ say, wait }) => Effect.zipRight(say("text me"), wait("8 seconds")),
          { sendSms }
        )
        expect(state.transcript.map(({ content }) => content)).toContain(said)
        expect(record.status).toBe("completed")
      }
    })
  )
})

describe("post_call_sms", () => {
  const post_call = { sms: { to: "caller", message: "{{duration_seconds}} s in {{call_id}}" } }

  it.live("is sent after extraction, with its variables filled in", () =>
    Effect.gen(function* () {
      const { log, record, texts } = yield* during(
        configuration(script, { extraction_schema, post_call }).json,
        ({ say }) => say("I am Anna")
      )
      expect(texts).toMatchObject([
        { id: "post_call", to: facts.from, message: `${record.duration_seconds} s in ${facts.call_id}` }
      ])
      const tags = log.rows.map(({ input }) => input._tag)
      expect(tags.indexOf("PostCallSmsDone")).toBeGreaterThan(tags.indexOf("Extracted"))
    })
  )

  it.live("that hangs or is refused does not affect the call", () =>
    Effect.gen(function* () {
      for (const [sendSms, longest] of [
        [() => Effect.never, 3100],
        [() => new MessageFailed({ reason: "refused" }), 100]
      ] as const) {
        const { log, record } = yield* during(configuration(script, { post_call }).json, ({ say }) => say("Hi"), {
          sendSms
        })
        expect(record).toMatchObject({ status: "completed", ended_reason: "caller-hangup", extracted_data: {} })
        expect(lasted(log.rows)).toBeLessThan(longest)
      }
    })
  )
})
