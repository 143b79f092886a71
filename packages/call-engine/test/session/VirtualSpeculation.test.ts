import { describe, expect, it } from "@effect/vitest"
import { tool } from "@svc/conversation/testing/Script"
import { mulaw8k } from "@svc/providers/Audio"
import { LanguageModelError, type ModelRequest } from "@svc/providers/LanguageModel"
import type { Providers } from "@svc/providers/Providers"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import type { LegKind } from "../doubles/VirtualPhone.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which the model may be asked before the end of a turn. */

const realistic = {
  stt: { final_after_ms: 300 },
  model: { first_token_ms: 400, tokens_per_second: 60 },
  tts: { first_byte_ms: 200 }
}

const answerOf = (providers: object, turn_taking: object = {}) =>
  configuration(
    {
      rules: [{ user: "gold", tool: "lookup" }],
      otherwise: "You said {{user}}.",
      providers: { ...realistic, ...providers }
    },
    { turn_taking, tools: [tool("lookup")] }
  ).json

type Loaded = Context.Tag.Service<Providers>

/** The preferred model with requests that a test sees, and may answer itself. */
const watched =
  (
    requests: Array<ModelRequest>,
    instead: (n: number) => Effect.Effect<void, LanguageModelError> | undefined = () => undefined
  ) =>
  ({ languageModel: [model, ...others] }: Loaded): Partial<Loaded> =>
    model === undefined
      ? {}
      : {
          languageModel: [
            {
              ...model,
              generate: (request, onDelta) =>
                Effect.suspend(() => {
                  requests.push(request)
                  return instead(requests.length) ?? model.generate(request, onDelta)
                })
            },
            ...others
          ]
        }

const timesOf = ({ log }: VirtualCall, tag: string) =>
  log.rows.flatMap(({ input }) => (input._tag !== "Facts" && input._tag === tag ? [input.at] : []))

/** A call in which the caller says these texts, 6 s after each other. */
const callOf = (
  options: {
    readonly texts?: ReadonlyArray<string>
    readonly providers?: object
    readonly turn_taking?: object
    readonly instead?: (n: number) => Effect.Effect<void, LanguageModelError> | undefined
    readonly leg?: LegKind
    /** From the beginning of one text to that of the next. */
    readonly restMs?: number
  } = {}
) =>
  Effect.gen(function* () {
    const requests: Array<ModelRequest> = []
    const { restMs = 6000, texts = ["One two three"], providers = {}, turn_taking } = options
    const { result, state } = yield* during(
      watched(requests, options.instead),
      (call) =>
        Effect.gen(function* () {
          yield* call.wait("3 seconds")
          for (const text of texts) {
            yield* call.say(text)
            yield* call.wait(restMs)
          }
          yield* call.wait("4 seconds")
          const [, first = 0] = timesOf(call, "SpeechStarted")
          return { turns: call.turns(), answered: first, ended: timesOf(call, "CallerEndOfTurn"), log: call.log }
        }),
      answerOf(providers, turn_taking),
      [],
      options.leg
    )
    return { ...result, requests, state }
  })

const understood = ["assistant: Hello.", "user: One two three", "assistant: You said One two three."]

describe("the model is asked before the end of the turn", () => {
  it.live("and answers at least 250 ms earlier, with one request and the same transcript", () =>
    Effect.gen(function* () {
      const ahead = yield* callOf()
      const after = yield* callOf({ turn_taking: { preemptive: false } })
      expect(ahead.turns).toEqual(understood)
      expect(after.turns).toEqual(understood)
      expect(after.answered - ahead.answered).toBeGreaterThanOrEqual(250)
      expect([ahead.requests.length, after.requests.length]).toEqual([1, 1])
      expect(ahead.log.events.map(({ event }) => event)).toEqual(after.log.events.map(({ event }) => event))
    })
  )

  it.live("and anew when the caller goes on, without a trace of the first answer", () =>
    Effect.gen(function* () {
      // The eager end of the first word is withdrawn.
      const { requests, state, turns } = yield* callOf({ providers: { stt: { eager: true, final_after_ms: 300 } } })
      expect(turns).toEqual(understood)
      expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["One", "One two three"])
      expect(state.entries.length).toBe(3)
      expect(state.warnings).toEqual([])
    })
  )

  it.live("in every turn of a call", () =>
    Effect.gen(function* () {
      const { requests, turns } = yield* callOf({ texts: ["One two three", "Four five six"] })
      expect(turns).toEqual([...understood, "user: Four five six", "assistant: You said Four five six."])
      expect(requests.length).toBe(2)
    })
  )

  it.live("and a tool that it calls runs after the end of the turn", () =>
    Effect.gen(function* () {
      const { ended, log, requests } = yield* callOf({ texts: ["Find gold"] })
      const invoked = log.events.find(({ event }) => event === "tool.invoked")
      expect(Date.parse(invoked?.timestamp ?? "") - Date.UTC(2026, 0, 1)).toBeGreaterThanOrEqual(ended[0] ?? 0)
      expect(log.events.filter(({ event }) => event === "tool.invoked").length).toBe(1)
      expect(requests.length).toBe(2)
    })
  )

  it.live("and a failure of that request costs nothing: the model is asked at the end of the turn", () =>
    Effect.gen(function* () {
      const broken = new LanguageModelError({ reason: "broken", retryable: true })
      const { requests, state, turns } = yield* callOf({ instead: (n) => (n === 1 ? broken : undefined) })
      expect(turns).toEqual(understood)
      expect(requests.length).toBe(2)
      expect([state.warnings, state.failure]).toEqual([[], null])
    })
  )

  it.live("also where the final never comes: silence ends the turn with the same words", () =>
    Effect.gen(function* () {
      const { requests, turns } = yield* callOf({
        providers: { stt: { final_after_ms: 300, miss_final: 1, endpointing: "none" } }
      })
      expect(turns).toEqual(understood)
      expect(requests.length).toBe(1)
    })
  )

  it.live("also where silence ends the turn", () =>
    Effect.gen(function* () {
      const ahead = yield* callOf({ turn_taking: { end_of_turn_ms: 1200 } })
      const after = yield* callOf({ turn_taking: { end_of_turn_ms: 1200, preemptive: false } })
      expect(ahead.turns).toEqual(understood)
      expect(ahead.requests.length).toBe(1)
      // The whole answer was there at the end of the turn; only the voice is waited for.
      expect(after.answered - ahead.answered).toBeGreaterThanOrEqual(400)
    })
  )

  it.live("never more than three times in a turn, whatever the partials say", () =>
    Effect.gen(function* () {
      const { requests, turns } = yield* callOf({
        texts: ["One two three four five six seven"],
        providers: { stt: { partial_every_ms: 100, revise: true, final_after_ms: 300 } }
      })
      expect(turns[1]).toBe("user: One two three four five six seven")
      expect(requests.length).toBeLessThanOrEqual(4)
    })
  )

  it.live("also where the phone sends nothing in silence", () =>
    Effect.gen(function* () {
      const leg: LegKind = { format: mulaw8k, network: { dtx: true } }
      const ahead = yield* callOf({ leg })
      const after = yield* callOf({ leg, turn_taking: { preemptive: false } })
      expect(ahead.turns).toEqual(understood)
      expect(after.answered - ahead.answered).toBeGreaterThanOrEqual(100)
    })
  )

  it.live("after the caller has interrupted the agent, with what was heard of it", () =>
    Effect.gen(function* () {
      const { requests, turns } = yield* callOf({ texts: ["One two three", "Four five"], restMs: 2200 })
      const [, , , , cut = ""] = turns
      expect(turns[3]).toBe("user: Four five")
      const heard = turns[2]?.replace("assistant: ", "") ?? ""
      expect("You said One two three.".startsWith(heard) && heard.length < 20).toBe(true)
      expect(requests.at(-1)?.messages.slice(-2)).toEqual([
        { role: "assistant", content: heard },
        { role: "user", content: "Four five" }
      ])
      expect(cut).toBe("assistant: You said Four five.")
    })
  )
})
