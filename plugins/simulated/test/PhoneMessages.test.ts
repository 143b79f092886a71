import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { readPhoneMessage } from "../src/Network/PhoneMessage.ts"
import { dialling, makeTestNetwork } from "./TestNetwork.ts"

const malformed: ReadonlyArray<readonly [string, string, RegExp]> = [
  ["text that is not JSON", "hello", /not valid JSON/],
  ["an empty message", "", /not valid JSON/],
  ["a truncated message", '{"event":"dial","to":', /not valid JSON/],
  ["a number", "5", /JSON object with an "event"/],
  ["null", "null", /JSON object with an "event"/],
  ["a list", '["dial"]', /JSON object with an "event"/],
  ["an object without event", '{"to":"+31"}', /JSON object with an "event"/],
  ["an unknown event", '{"event":"fly"}', /unknown event "fly"; known are dial, media/],
  ["an event that is not a string", '{"event":5}', /unknown event 5/],
  ["a dial without a number", '{"event":"dial","from":"+31"}', /^dial\.to: /],
  ["a dial with a blank number", '{"event":"dial","to":" ","from":"+31"}', /^dial\.to: there is no number/],
  ["a loss above 1", '{"event":"dial","to":"+31","from":"+32","loss":1.5}', /^dial\.loss: /],
  ["a negative jitter", '{"event":"dial","to":"+31","from":"+32","jitter_ms":-1}', /^dial\.jitter_ms: /],
  ["noise_db that is not a number", '{"event":"dial","to":"+31","from":"+32","noise_db":"loud"}', /^dial\.noise_db: /],
  ["audio that is not a boolean", '{"event":"dial","to":"+31","from":"+32","audio":"yes"}', /^dial\.audio: /],
  ["a say without text", '{"event":"say"}', /^say\.text: /],
  ["a blank say", '{"event":"say","text":"  "}', /nothing to say/],
  ["a very long say", JSON.stringify({ event: "say", text: "x".repeat(5001) }), /at most 5000/],
  ["invalid digits", '{"event":"dtmf","digits":"12a"}', /^dtmf\.digits: /],
  ["no digits", '{"event":"dtmf","digits":""}', /^dtmf\.digits: /],
  ["media without audio", '{"event":"media"}', /^media\.payload: /],
  ["empty media", '{"event":"media","payload":""}', /^media\.payload: /],
  ["media that is not base64", '{"event":"media","payload":"****"}', /^media\.payload: /],
  ["media with half a byte", '{"event":"media","payload":"A"}', /^media\.payload: /],
  ["media cut short", '{"event":"media","payload":"AAAA', /not valid JSON/],
  ["a message that is too long", `"${"x".repeat(300_000)}"`, /longer than/],
  ["no numbers to register", '{"event":"register","numbers":[],"behaviour":"answer"}', /^register\.numbers: /],
  ["a blank number to register", '{"event":"register","numbers":[" "],"behaviour":"answer"}', /^register\.numbers: /],
  ["an unknown behaviour", '{"event":"register","numbers":["+31"],"behaviour":"nap"}', /^register\.behaviour: /],
  [
    "a negative ring_ms",
    '{"event":"register","numbers":["+31"],"behaviour":"answer","ring_ms":-1}',
    /^register\.ring_ms: /
  ],
  [
    "an unknown verdict",
    '{"event":"register","numbers":["+31"],"behaviour":"answer","verdict":"robot"}',
    /^register\.verdict: /
  ],
  [
    "a negative verdict_ms",
    '{"event":"register","numbers":["+31"],"behaviour":"answer","verdict":"fax","verdict_ms":-1}',
    /^register\.verdict_ms: /
  ],
  ["an answer to a call that does not ring", '{"event":"answer","call_ref":"x"}', /no such call rings here/]
]

describe("a malformed message", () => {
  it.scoped.each(malformed)("is answered with error and has no effect: %s", ([, data, reason]) =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const idle = network.phone()
      idle.sendsRaw(data)
      expect(idle.take()).toEqual([{ event: "error", message: expect.stringMatching(reason) }])
      idle.sends(dialling)
      yield* network.nextCall

      const { call, phone } = yield* network.connect()
      phone.sendsRaw(data)
      const [answer, ...more] = phone.take()
      expect([answer?.event, more, phone.closedWith, call.events, call.frames]).toEqual(["error", [], undefined, [], 0])
      phone.sends({ event: "say", text: "Still here" })
      network.time.advance(3000)
      expect(call.heard).toEqual([{ text: "Still here", outcome: "ok" }])
    })
  )

  it.scoped("that is out of place is answered with error and has no effect", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const phone = network.phone()
      for (const message of [
        { event: "say", text: "x" },
        { event: "dtmf", digits: "1" },
        { event: "hangup" }
      ] as const) {
        phone.sends(message)
        expect(phone.take()).toEqual([{ event: "error", message: `${message.event}: there is no call` }])
      }
      phone.sends({ event: "media", payload: "AAAA" })
      expect(phone.take()).toEqual([])
      phone.sends(dialling)
      phone.sends({ event: "say", text: "x" })
      phone.sends(dialling)
      phone.sends({ event: "media", payload: "AAAA" })
      expect(phone.take()).toEqual([
        { event: "error", message: "say: the call is not answered yet" },
        { event: "error", message: "dial: this phone has a call already" }
      ])
      const call = yield* Effect.flatMap(network.nextCall, (incoming) => network.answer(incoming))
      expect([call.frames, call.events]).toEqual([0, []])
    })
  )

  it.scoped("say is answered with error when 100 utterances are queued", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { phone } = yield* network.connect()
      for (let n = 0; n < 101; n++) phone.sends({ event: "say", text: "x" })
      expect(phone.take()).toEqual([{ event: "error", message: "say: too much waits to be said already" }])
    })
  )
})

describe("readPhoneMessage", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 400 })
  const audio = (data: string | Uint8Array) => {
    const read = readPhoneMessage(data)
    return read._tag === "Audio" ? [...read.bytes] : read
  }

  it("reads the payload of media in any notation of JSON", () => {
    fc.assert(
      fc.property(bytes, (data) => {
        const payload = Buffer.from(data).toString("base64")
        const usual = JSON.stringify({ event: "media", payload })
        expect(audio(usual)).toEqual([...data])
        expect(audio(JSON.stringify({ payload, event: "media" }))).toEqual([...data])
        expect(audio(JSON.stringify({ event: "media", payload, sequence: 4 }))).toEqual([...data])
        expect(audio(usual.replaceAll("/", "\\/").replaceAll("+", "\\u002b"))).toEqual([...data])
        expect(audio(`  ${JSON.stringify({ event: "media", payload }, null, 2)}\n`)).toEqual([...data])
        expect(audio(Buffer.from(usual))).toEqual([...data])
        expect(audio(`{"event":"media","payload":"AAAA","payload":"${payload}"}`)).toEqual([...data])
      })
    )
  })

  it("does not throw for any input", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.string().map((s) => `{"event":"media","payload":"${s}"}`)
        ),
        (data) => {
          expect(["Audio", "Malformed", "Other"]).toContain(readPhoneMessage(data)._tag)
        }
      )
    )
  })
})
