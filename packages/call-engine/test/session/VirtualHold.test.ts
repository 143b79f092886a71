import { describe, expect, it } from "@effect/vitest"
import { recordOf } from "@svc/conversation/CallRecord"
import { mulaw8k } from "@svc/providers/Audio"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which the caller puts the agent on hold, over a network that confirms nothing. */

const greeting = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."

const answer = configuration({ otherwise: "You said {{user}}." }, { first_message: greeting }).json

const on = <A>(act: (call: VirtualCall) => Effect.Effect<A>) =>
  Effect.map(
    during(() => ({}), act, answer, [], { format: mulaw8k, marks: "none" }),
    ({ result, state }) => ({
      result,
      said: recordOf(state).transcript.map(({ content, role }) => `${role}: ${content}`)
    })
  )

const hold = (call: VirtualCall, on: boolean) =>
  Effect.forEach(
    [
      { _tag: "Media", on: !on },
      { _tag: "Hold", on }
    ] satisfies ReadonlyArray<CallEvent>,
    call.emit
  )

/** Waits until the agent has spoken for a second. */
const begin = (call: VirtualCall) =>
  Effect.gen(function* () {
    while (call.heard.length === 0) yield* call.wait("20 millis")
    yield* call.wait("1 second")
  })

const words = (text: string): ReadonlyArray<string> => text.replace(/^assistant: /, "").split(" ")

describe("a call that is put on hold", () => {
  it.live(
    "while the agent speaks sends nothing meanwhile, and the transcript has none of it when the caller hangs up on hold",
    () =>
      Effect.gen(function* () {
        const { result, said } = yield* on((call) =>
          Effect.gen(function* () {
            yield* begin(call)
            yield* hold(call, true)
            const sent = call.heard.length
            yield* call.wait("10 seconds")
            return { sent, more: call.heard.length - sent }
          })
        )
        expect(result.sent).toBeGreaterThan(45)
        expect(result.more).toBe(0)
        expect(said).toHaveLength(1)
        // 15 characters per second.
        expect(words(said[0] ?? "").length).toBeLessThan(6)
        expect(`assistant: ${greeting}`.startsWith(said[0] ?? "-")).toBe(true)
      })
  )

  it.live(
    "while the agent speaks goes on where it stopped after each of two holds, so that every frame is sent once",
    () =>
      Effect.gen(function* () {
        const whole = yield* on((call) => Effect.as(Effect.zipRight(begin(call), call.wait("20 seconds")), call.heard))
        const { result, said } = yield* on((call) =>
          Effect.gen(function* () {
            yield* begin(call)
            for (let times = 0; times < 2; times++) {
              yield* hold(call, true)
              yield* call.wait("3 seconds")
              yield* hold(call, false)
              yield* call.wait("500 millis")
            }
            yield* call.wait("20 seconds")
            return call.heard
          })
        )
        expect(result.map((frame) => Buffer.from(frame).toString("hex"))).toEqual(
          whole.result.map((frame) => Buffer.from(frame).toString("hex"))
        )
        expect(said).toEqual([`assistant: ${greeting}`])
      })
  )

  it.live("while the agent is silent hears the caller as before when it is taken back", () =>
    Effect.gen(function* () {
      const { said } = yield* on((call) =>
        Effect.gen(function* () {
          yield* begin(call)
          yield* call.wait("15 seconds")
          yield* hold(call, true)
          yield* call.wait("5 seconds")
          yield* hold(call, false)
          yield* call.say("hello again")
          yield* call.wait("8 seconds")
        })
      )
      expect(said).toEqual([`assistant: ${greeting}`, "user: hello again", "assistant: You said hello again."])
    })
  )
})
