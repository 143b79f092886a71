import { describe, expect, it } from "@effect/vitest"
import { fencedSpeechToText } from "@svc/plugin-host/fence/FencedSpeechToText"
import { type SpeechToText, SpeechToTextError, type SpeechToTextOptions } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls in which sessions of speech-to-text break while the caller speaks. */

type Provider = Context.Tag.Service<SpeechToText>

const broken = new SpeechToTextError({ reason: "broken", retryable: true })

/** The provider, of which session `n` (from 1) is opened as `opens` says and breaks with the frame that `breaks` says. */
const faulty = (
  provider: Provider,
  options: {
    readonly opens?: (nth: number) => Effect.Effect<void, SpeechToTextError>
    readonly breaks?: (nth: number) => number | undefined
    /** Breaks after each end of a turn. */
    readonly closesAfterTurn?: boolean
    readonly asked?: Array<SpeechToTextOptions>
    /** With the deadlines that plugins have. */
    readonly isFenced?: boolean
  }
): Provider => {
  let opened = 0
  return {
    ...provider,
    open: (given) =>
      Effect.gen(function* () {
        const nth = ++opened
        options.asked?.push(given)
        yield* options.opens?.(nth) ?? Effect.void
        const fail = () => given.onEvent({ _tag: "Failed", error: broken })
        let isBroken = false
        const session = yield* provider.open({
          ...given,
          onEvent: (event) => {
            if (isBroken) return
            given.onEvent(event)
            if (event._tag !== "EndOfTurn" || options.closesAfterTurn !== true) return
            isBroken = true
            fail()
          }
        })
        let frames = 0
        return {
          ...session,
          push: (frame) => {
            if (isBroken) return
            session.push(frame)
            if (++frames !== options.breaks?.(nth)) return
            isBroken = true
            fail()
          }
        }
      })
  }
}

const answer = configuration(
  {
    rules: [
      { user: "long", say: "This answer is long enough to be interrupted by what the caller says in the meantime." },
      { user: "german", tool: "switch_language", arguments: { language: "de-DE" } }
    ],
    otherwise: "You said {{user}}."
  },
  { end_session_message: "Bye.", platform_tools: ["switch_language"], languages: ["en-US", "de-DE"] }
).json

const callWith = <A>(options: Parameters<typeof faulty>[1], act: (call: VirtualCall) => Effect.Effect<A>) =>
  during(
    ({ speechToText: [simulated] }) => {
      if (simulated === undefined) throw new Error("no recognizer")
      const provider = faulty(simulated, options)
      return { speechToText: [options.isFenced ? Effect.runSync(fencedSpeechToText(provider)) : provider] }
    },
    act,
    answer
  )

const sayOnce = ({ say, turns, wait }: VirtualCall) =>
  Effect.gen(function* () {
    yield* wait("3 seconds")
    yield* say("One two three four")
    yield* wait("12 seconds")
    return turns()
  })

const understood = ["assistant: Hello.", "user: One two three four", "assistant: You said One two three four."]

describe("speech-to-text that breaks", () => {
  it.live.each([1, 3, 5, 10, 20, 30, 40, 50, 60, 70])(
    "with frame %i of the caller's words loses no word and repeats none",
    (frame) =>
      Effect.gen(function* () {
        const { result, state } = yield* callWith({ breaks: (nth) => (nth === 1 ? frame : undefined) }, sayOnce)
        expect(result).toEqual(understood)
        expect(state.failure).toBeNull()
      })
  )

  it.live("again while it gets the words a second time loses no word and repeats none", () =>
    Effect.gen(function* () {
      const { result } = yield* callWith({ breaks: (nth) => (nth <= 2 ? 30 : undefined) }, sayOnce)
      expect(result).toEqual(understood)
    })
  )

  it.live("while the agent speaks does not stop it, and the caller's interruption is complete", () =>
    Effect.gen(function* () {
      const { result } = yield* callWith({ breaks: (nth) => (nth === 1 ? 80 : undefined) }, ({ say, turns, wait }) =>
        Effect.gen(function* () {
          yield* wait("3 seconds")
          yield* say("A long one")
          yield* wait("3 seconds")
          yield* say("No a short one please")
          yield* wait("8 seconds")
          return turns()
        })
      )
      expect(result[2]).toMatch(/^assistant: This answer is/)
      expect(result.slice(3)).toEqual(["user: No a short one please", "assistant: You said No a short one please."])
    })
  )

  it.live("at each opening ends the call with an apology", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ opens: () => broken }, ({ hangups, turns, wait }) =>
        Effect.gen(function* () {
          yield* wait("15 seconds")
          return { turns: turns(), hangups: [...hangups] }
        })
      )
      expect(result.turns.slice(-2)).toEqual([
        "assistant: I'm sorry, I can't hear you properly because of a technical problem. Please call again later.",
        "assistant: Bye."
      ])
      expect(result.hangups).toEqual(["error"])
      expect(state.failure?.stage).toBe("speech-to-text")
    })
  )

  it.live.each([
    ["fails to open after 5 s", false, Effect.delay(broken, "5 seconds")],
    ["hangs while it opens", true, Effect.never]
  ] as const)("that %s gets everything when it is opened again", ([_, isFenced, first]) =>
    Effect.gen(function* () {
      const { result } = yield* callWith(
        { isFenced, opens: (nth) => (nth === 1 ? first : Effect.void) },
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("1 second")
            yield* say("One two three four")
            yield* wait("12 seconds")
            return turns()
          })
      )
      expect(result).toEqual(understood)
    })
  )

  it.live("after each turn loses no turn", () =>
    Effect.gen(function* () {
      const { result, state } = yield* callWith({ closesAfterTurn: true }, ({ say, turns, wait }) =>
        Effect.gen(function* () {
          yield* wait("3 seconds")
          yield* say("One")
          yield* wait("35 seconds")
          yield* say("Two")
          yield* wait("8 seconds")
          return turns()
        })
      )
      expect(result.slice(1)).toEqual([
        "user: One",
        "assistant: You said One.",
        "user: Two",
        "assistant: You said Two."
      ])
      expect(state.failure).toBeNull()
    })
  )

  it.live("is opened in the new language when the language is switched meanwhile, and gets the words once", () =>
    Effect.gen(function* () {
      const asked: Array<SpeechToTextOptions> = []
      const { result } = yield* callWith(
        { asked, closesAfterTurn: true, opens: (nth) => (nth === 2 ? Effect.sleep("3 seconds") : Effect.void) },
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("In german")
            yield* wait("1 second")
            yield* say("Eins zwei")
            yield* wait("10 seconds")
            return turns()
          })
      )
      expect(asked.at(-1)?.language).toBe("de-DE")
      expect(result.filter((turn) => turn.startsWith("user"))).toEqual(["user: In german", "user: Eins zwei"])
    })
  )
})
