import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { listen, messagesOf, queryOf, setUp, until } from "./Provided.ts"

describe("Flux (/v2/listen)", () => {
  const flux = { model: "flux-general-multi" }

  it.live("asks for an eager end of turn, and hints at the language", () =>
    Effect.gen(function* () {
      const at = yield* setUp({}, flux)
      yield* listen(at, { language: "nl-NL", keyterms: ["Svc"], endpointingMs: 200 })
      expect(at.server.peers[0]?.request.path).toBe("/v2/listen")
      expect(queryOf(at)).toEqual({
        model: "flux-general-multi",
        eager_eot_threshold: "0.5",
        eot_timeout_ms: "500",
        language_hint: "nl",
        numerals: "true",
        keyterm: "Svc",
        encoding: "mulaw",
        sample_rate: "8000"
      })
    }).pipe(Effect.scoped)
  )

  it.live("speaks to Nova for languages that the model does not know", () =>
    Effect.gen(function* () {
      const at = yield* setUp({}, flux)
      yield* listen(at, { language: "fi-FI" })
      expect(at.server.peers[0]?.request.path).toBe("/v1/listen")
      expect(queryOf(at)).toMatchObject({ model: "nova-3", language: "fi" })
    }).pipe(Effect.scoped)
  )

  it.live("emits an eager end of the turn, withdraws it when the caller goes on, and then the end", () =>
    Effect.gen(function* () {
      const at = yield* setUp({}, flux)
      const heard = yield* listen(at, { language: "nl-NL" })
      heard.say("een twee")
      heard.pause(300)
      heard.say(" drie")
      heard.pause(700)
      yield* until(() => heard.tags().includes("EndOfTurn"))
      const [first] = heard.events
      expect(first).toEqual({ _tag: "SpeechStarted" })
      const turns = heard.events.filter(({ _tag }) => _tag !== "Partial" && _tag !== "SpeechStarted")
      expect(turns).toMatchObject([
        { _tag: "EagerEndOfTurn", text: "een twee" },
        { _tag: "TurnResumed" },
        { _tag: "EagerEndOfTurn", text: "een twee drie" },
        { _tag: "Final", text: "een twee drie", language: "nl", words: [{ text: "een", start: 0, end: 60 }, {}, {}] },
        { _tag: "EndOfTurn" }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("flush ends the turn, finish gets a turn that has not ended, and update changes the session", () =>
    Effect.gen(function* () {
      const at = yield* setUp({}, flux)
      const heard = yield* listen(at)
      heard.say("one two")
      heard.session.flush?.()
      yield* until(() => heard.finals().length === 1)
      expect(heard.session.update?.({ keyterms: ["Svc"], endpointingMs: 3000, language: "de-DE" })).toBe(true)
      expect(heard.session.update?.({ language: "fi-FI" })).toBe(false)
      heard.say("three four")
      yield* heard.session.finish
      expect(heard.finals()).toEqual(["one two", "three four"])
      expect(messagesOf(at)).toEqual([
        { type: "ForceEndTurn" },
        { type: "Configure", thresholds: { eot_timeout_ms: 3000 }, keyterms: ["Svc"], language_hints: ["de"] },
        { type: "CloseStream" }
      ])
    }).pipe(Effect.scoped)
  )

  it.live("a long turn whose connection is lost keeps the words that the engine cannot push again", () =>
    Effect.gen(function* () {
      const at = yield* setUp({}, flux)
      const heard = yield* listen(at)
      const words = Array.from({ length: 120 }, (_, n) => `w${100 + n}`)
      // 12 s of audio.
      heard.say(words.join(" "))
      yield* until(() => heard.events.some((event) => event._tag === "Partial" && event.text.includes("w160")))
      at.server.peers[0]?.breakOff()
      yield* until(() => heard.tags().includes("Failed"))
      const [kept = ""] = heard.finals()
      const count = kept.split(" ").length
      expect(kept).toBe(words.slice(0, count).join(" "))
      // A word takes 100 ms: those that ended 9 s before the end, and not more.
      expect(count).toBeGreaterThan(25)
      expect(count).toBeLessThanOrEqual(30)
      expect(heard.tags().slice(-2)).toEqual(["Final", "Failed"])
    }).pipe(Effect.scoped)
  )

  it.live("an error of the server ends the session with its code", () =>
    Effect.gen(function* () {
      const at = yield* setUp(
        {
          fault: (_, peer) =>
            Effect.sync(() =>
              peer.send({ type: "Error", sequence_id: 1, code: "INTERNAL_SERVER_ERROR", description: "sorry" })
            )
        },
        flux
      )
      const heard = yield* listen(at)
      yield* until(() => heard.events.length > 0)
      expect(heard.events).toMatchObject([
        { _tag: "Failed", error: { reason: `${at.server.origin} failed: INTERNAL_SERVER_ERROR: sorry` } }
      ])
    }).pipe(Effect.scoped)
  )
})
