import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { at } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"

const concurrent = { concurrent: true, timeout: 60_000 }

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("the settings of a call", (it) => {
  /** A call with these settings, in which the caller says one thing. */
  const callWith = (settings: { readonly [field: string]: unknown }) =>
    Effect.gen(function* () {
      const box = yield* BlackBox
      const script = { otherwise: "You said {{user}}." }
      const line = yield* Line.open(box, () => Line.configuration(script, settings))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("One two")
      yield* phone.hears("You said One two.")
      phone.hangup()
      const call = yield* CallRecords.settled(box.api, callId)
      const { body: timeline } = yield* box.api.get(`/v1/calls/${callId}/timeline`)
      const [ended] = CallRecords.dataOf(yield* CallRecords.eventsOf(callId), "call.ended")
      return { call, ended, timeline }
    })

  it.scoped(
    "that are wrong are left out alone, and the timeline says which apply and which do not",
    () =>
      Effect.gen(function* () {
        const { timeline } = yield* callWith({
          turn_taking: {
            end_of_turn_ms: 199,
            interrupt_after_ms: 700,
            interrupt_min_words: 11,
            resume_after_ms: null,
            preemptive: 1
          },
          first_message_interruptible: "no",
          silence_prompts: { after_seconds: 2, say: "Still there?", max: 1 },
          model: { name: "unheard-of", temperature: 0.5, max_tokens: 8193 },
          speech: { speed: 3, pronunciations: [{ text: "SQL", say: "sequel" }, { text: "" }] },
          platform_tools: ["press_keys", "make_coffee"],
          languages: ["en-US", "xx-XX"]
        })
        expect(timeline["settings"]).toMatchObject({
          turn_taking: {
            end_of_turn_ms: null,
            interrupt_after_ms: 700,
            interrupt_min_words: 0,
            resume_after_ms: null,
            preemptive: true
          },
          first_message_interruptible: true,
          silence_prompts: null,
          model: { name: null, temperature: 0.5, max_tokens: null },
          speech: { speed: 1, pronunciations: [{ text: "SQL", say: "sequel" }] },
          platform_tools: ["press_keys"],
          languages: [{ language: "en-US" }]
        })
        const leftOut = at(timeline, "settings.left_out")
        const fields = Array.isArray(leftOut) ? leftOut.map((one: unknown) => at(one, "field")) : []
        expect(fields.toSorted()).toEqual([
          "first_message_interruptible",
          "languages.1",
          "model.max_tokens",
          "model.name",
          "platform_tools.1",
          "silence_prompts.after_seconds",
          "speech.pronunciations.1.text",
          "speech.speed",
          "turn_taking.end_of_turn_ms",
          "turn_taking.interrupt_min_words",
          "turn_taking.preemptive"
        ])
      }),
    concurrent
  )

  it.scoped(
    "that are not given leave the defaults, and the call's usage and line are in its record, event and timeline",
    () =>
      Effect.gen(function* () {
        const { call, ended, timeline } = yield* callWith({})
        const usage = {
          llm: {
            requests: expect.any(Number),
            input_tokens: expect.any(Number),
            cached_input_tokens: 0,
            output_tokens: expect.any(Number)
          },
          tts: { characters: "Hello.You said One two.".length, cached_characters: expect.any(Number) },
          stt: { seconds: expect.any(Number) }
        }
        expect(call["usage"]).toEqual(usage)
        expect(at(call, "usage.llm.requests")).toBeGreaterThan(0)
        expect(at(call, "usage.stt.seconds")).toBeGreaterThan(0)
        expect(call["line"]).toMatchObject({ telephony: "simulated", codec: "PCMU" })
        expect(Object.keys(Object(call["line"])).toSorted()).toEqual([
          "carrier_call_id",
          "codec",
          "jitter_ms",
          "packets_late",
          "packets_lost",
          "telephony"
        ])
        expect(call).not.toHaveProperty("llm_cost")
        for (const other of [ended, timeline]) {
          expect(other?.["usage"]).toEqual(call["usage"])
          expect(other?.["line"]).toEqual(call["line"])
        }
        expect(at(timeline, "settings.left_out")).toEqual([])
      }),
    concurrent
  )
})
