import { expect, layer } from "@effect/vitest"
import { alaw } from "@svc/plugin-simulated/Law"
import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { lawFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { Effect } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"
import type { PhoneClient } from "../src/blackbox/PhoneClient.ts"

const concurrent = { concurrent: true, timeout: 60_000 }

/** `role: content` of the transcript of a call that is over. */
const turnsOf = (call: unknown): ReadonlyArray<string> => {
  const transcript = at(call, "transcript")
  return Array.isArray(transcript)
    ? transcript.map((turn: unknown) => `${textAt(turn, "role")}: ${textAt(turn, "content")}`)
    : []
}

/** What the A-law `media` says that a phone got. */
const heardInAlaw = (phone: PhoneClient): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const decoder = new ToneDecoder({
    started: () => {},
    progressed: () => {},
    ended: (text) => void texts.push(text)
  })
  const pcm = new Int16Array(160)
  for (const message of phone.inbox.all) {
    if (message.event !== "media") continue
    alaw.decode(Buffer.from(message.payload, "base64"), 0, 160, pcm, 0)
    decoder.push(pcm)
  }
  return texts
}

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("providers in a script", (it) => {
  /** A call in which the caller says one thing. */
  const talk = (providers: unknown, dial: { readonly loss?: number; readonly jitter_ms?: number } = {}) =>
    Effect.gen(function* () {
      const box = yield* BlackBox
      const line = yield* Line.open(box, () => Line.configuration({ otherwise: "You said {{user}}.", providers }))
      const phone = yield* line.phone
      phone.send({ event: "dial", to: line.number, from: Line.caller, ...dial })
      const { call_id } = yield* phone.until("answered")
      yield* phone.hears("Hello.")
      phone.say("One two")
      yield* phone.hears("You said One two.")
      phone.hangup()
      const call = yield* CallRecords.settled(box.api, call_id)
      expect((yield* CallRecords.replayOf(call_id)).differing).toEqual([])
      return { call, callId: call_id }
    })
  const understood = ["assistant: Hello.", "user: One two", "assistant: You said One two."]

  for (const [what, providers, dial] of [
    ["slow finals, revised partials and eager ends", { stt: { final_after_ms: 400, revise: true, eager: true } }],
    [
      "a voice at 22,050 Hz, slow, in bursts, aligned late",
      {
        tts: { sample_rate: 22_050, first_byte_ms: 200, burst: true, late_align_ms: 200 }
      }
    ],
    ["a slow model", { model: { first_token_ms: 300, tokens_per_second: 20 } }],
    [
      "a leg without silence, with marks that are echoed and a faint echo",
      {
        leg: { dtx: true, marks: "echoed", echo_db: 45, echo_delay_ms: 120 }
      }
    ],
    ["a leg without marks", { leg: { marks: "none" } }],
    ["late packets", { leg: { dtx: true } }, { jitter_ms: 60 }]
  ] as const) {
    it.scoped(
      `a call with ${what} is a conversation`,
      () => Effect.map(talk(providers, dial), ({ call }) => expect(turnsOf(call)).toEqual(understood)),
      concurrent
    )
  }

  it.scoped(
    "leg.format alaw is the format of media in both directions from the first frame on",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const script = { otherwise: "You said {{user}}.", providers: { leg: { format: "alaw" } } }
        const line = yield* Line.open(box, () => Line.configuration(script))
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller, audio: true })
        const { call_id } = yield* phone.until("answered")
        yield* phone.hears("Hello.")
        const encoder = new ToneEncoder("in A-law")
        const frames: Array<Uint8Array> = []
        for (let key = encoder.next(); key >= 0; key = encoder.next()) frames.push(lawFrame(alaw, key))
        phone.send({ event: "media", payload: Buffer.concat(frames).toString("base64") })
        yield* phone.hears("You said in A-law.")
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, call_id)
        // Only now: the text is heard with the first frame of its last symbol, and that frame comes after the text.
        expect(heardInAlaw(phone)).toEqual(["Hello.", "You said in A-law."])
        expect(turnsOf(call)).toEqual(["assistant: Hello.", "user: in A-law", "assistant: You said in A-law."])
      }),
    concurrent
  )

  it.scoped(
    "the faults of one call are not those of another at the same time",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const providers = { tts: { fail: "garbage" }, stt: { fail_every_s: 0.5 }, model: { fail: "error" } }
        const broken = yield* Line.open(box, () => Line.configuration({ providers }))
        const callers = yield* Effect.forEach([1, 2, 3], () => broken.call, { concurrency: "unbounded" })
        for (const { phone } of callers) phone.say("A sentence that lasts for a while")
        const { call, callId } = yield* talk({})
        expect(turnsOf(call)).toEqual(understood)
        expect(call).toMatchObject({ failure: null, warnings: [] })
        const response = yield* Effect.promise(() => fetch(`${box.url}/telephony/simulated/calls/${callId}`))
        expect(yield* Effect.promise(() => response.json())).toMatchObject({ tts: { voice: "Sarah" } })
        for (const { callId, phone } of callers) {
          phone.hangup()
          yield* CallRecords.settled(box.api, callId)
        }
      }),
    concurrent
  )

  it.scoped(
    "an outgoing call has them from its configuration on, and keeps its format",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const providers = {
          stt: { final_after_ms: 300 },
          tts: { sample_rate: 22_050 },
          leg: { format: "alaw", dtx: true }
        }
        const script = { otherwise: "You said {{user}}.", providers }
        const line = yield* Line.open(box, () => Line.configuration(script))
        const phone = yield* line.phone
        const number = Line.freshNumber()
        phone.send({ event: "register", numbers: [number], behaviour: "answer" })
        yield* phone.until("registered")
        const placed = yield* box.api.post("/v1/calls", { agent_id: line.agentId, to_number: number })
        expect(placed.status).toBe(201)
        const { call_id } = yield* phone.until("answered")
        yield* phone.hears("Hello.")
        phone.say("One two")
        yield* phone.hears("You said One two.")
        phone.hangup()
        expect(turnsOf(yield* CallRecords.settled(box.api, call_id))).toEqual(understood)
      }),
    concurrent
  )

  it.scoped(
    "a wrong field is named in the warnings of the call",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const line = yield* Line.open(box, () => Line.configuration({ providers: { tts: { sample_rate: 11_025 } } }))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("One two")
        yield* phone.hears(/say that again/)
        phone.hangup()
        const call = yield* CallRecords.settled(box.api, callId)
        expect(at(call, "warnings")).toMatchObject([
          {
            what: "language-model",
            reason:
              "the script in the system prompt is not right: providers.tts.sample_rate: Expected one of 8000, 16000, 22050, 24000, actual 11025"
          }
        ])
      }),
    concurrent
  )

  it.scoped(
    "in a test session only those of the model apply",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const providers = { tts: { fail: "error" }, stt: { miss_final: 1 }, model: { fail_every: 2 } }
        const line = yield* Line.open(box, () => Line.configuration({ otherwise: "You said {{user}}.", providers }))
        const { body } = yield* box.api.post("/v1/test-sessions", { agent_id: line.agentId })
        const id = textAt(body, "test_session.id")
        const say = (content: string) =>
          Effect.map(box.api.post(`/v1/test-sessions/${id}/message`, { content }), ({ body }) => body["messages"])
        expect(yield* say("One")).toMatchObject([{}, { role: "assistant", content: "You said One." }])
        expect(yield* say("Two")).toMatchObject([{}, { content: expect.stringMatching(/say that again/) }])
        expect(yield* say("Three")).toMatchObject([{}, { content: "You said Three." }])
      }),
    concurrent
  )
})
