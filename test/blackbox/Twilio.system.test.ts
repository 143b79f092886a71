import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import type { EmulatedCall } from "@svc/plugin-twilio/testing/EmulatedCall"
import { type EmulatedTwilio, emulatedTwilio } from "@svc/plugin-twilio/testing/EmulatedTwilio"
import { mulawToPcm, pcmToMulaw } from "@svc/providers/G711"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Effect } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"
import { toneEar, toneVoice } from "../src/blackbox/ToneVendor.ts"

const number = "+12125550123"

/** A server with an agent at a number of the emulated Twilio. */
const running = (carrier: EmulatedTwilio) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const baseUrl = `http://127.0.0.1:${port}`
    const env = {
      SVC_PORT: String(port),
      SVC_BASE_URL: baseUrl,
      SVC_PLUGINS: "@svc/plugin-twilio,@svc/plugin-simulated",
      SVC_SIMULATED_PROVIDES: "speech-to-text,text-to-speech,language-model,embedding",
      SVC_TWILIO_ACCOUNT_SID: carrier.accountSid,
      SVC_TWILIO_AUTH_TOKEN: carrier.authToken,
      SVC_TWILIO_API_URL: carrier.origin
    }
    const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys, env }
    const server = yield* ServerProcess.start(options)
    const below = `${baseUrl}/telephony/twilio`
    carrier.webhooks = { voice: `${below}/voice`, status: `${below}/status`, sms: `${below}/sms` }
    carrier.inventory.rents.set(number, { sid: "PN1", phone_number: number, friendly_name: "mine" })
    const customer = yield* CustomerServer.start(() => Line.configuration({ otherwise: "You said {{user}}." }))
    const created = yield* server.api.post("/v1/agents", { name: "Line", server_url: customer.url })
    const agentId = textAt(created.body, "agent.public_id")
    const imported = yield* server.api.post("/v1/phone-numbers/import", { number, telephony: "twilio" })
    yield* server.api.patch(`/v1/phone-numbers/${textAt(imported.body, "phone_number.id")}`, { agent_id: agentId })
    return { server, options, agentId, env }
  })

/** What the phone heard in tone speech. */
const heard = (call: EmulatedCall): string => {
  const audio = call.heard()
  const ear = toneEar()
  for (let from = 0; from + 160 <= audio.length; from += 160) {
    const frame = new Int16Array(160)
    mulawToPcm(audio, from, 160, frame, 0)
    ear.push(frame)
  }
  return ear.text()
}

const hears = (call: EmulatedCall, text: string) =>
  eventually(
    `the phone hears ${text}`,
    Effect.sync(() => heard(call)),
    (words) => words.includes(text)
  )

/** Speaks tone speech in real time, and a second of silence after it. */
const say = (call: EmulatedCall, text: string) =>
  Effect.gen(function* () {
    const voice = toneVoice(text, 8000)
    const samples = new Int16Array(voice.length + 8000)
    samples.set(voice)
    const begun = performance.now()
    for (let from = 0; from + 160 <= samples.length; from += 160) {
      const frame = Buffer.alloc(160)
      pcmToMulaw(samples, from, 160, frame, 0)
      call.sendAudio(frame)
      yield* Effect.sleep(Math.max(0, begun + (from + 160) / 8 - performance.now()))
    }
  })

describe("A server with numbers of Twilio", () => {
  it.scopedLive(
    "answers calls, places them, and svc plugins check proves credentials and public address",
    () =>
      Effect.gen(function* () {
        const carrier = yield* emulatedTwilio
        const { agentId, env, options, server } = yield* running(carrier)

        const call = carrier.dial({ from: "+12025550100", to: number })
        yield* hears(call, "Hello.")
        yield* say(call, "One two")
        yield* hears(call, "You said One two.")
        yield* call.breakStream
        yield* eventually(
          "the stream is back",
          Effect.sync(() => call.streams),
          (streams) => streams === 2
        )
        yield* say(call, "Three")
        yield* hears(call, "You said Three.")
        yield* call.phone.hangup
        const calls = yield* server.api.get("/v1/calls")
        const record = yield* CallRecords.settled(server.api, textAt(calls.body, "calls.0.call_id"))
        expect(at(record, "line")).toMatchObject({ telephony: "twilio", carrier_call_id: call.sid, codec: "PCMU" })
        expect([at(record, "status"), at(record, "ended_reason")]).toEqual(["completed", "caller-hangup"])

        carrier.addPhone("+12025550177", "answers")
        const placed = yield* server.api.post("/v1/calls", {
          agent_id: agentId,
          to_number: "+12025550177",
          from_number: number
        })
        expect(placed.status).toBe(201)
        const other = yield* eventually(
          "the call to the phone",
          Effect.sync(() => carrier.callTo("+12025550177")),
          (found) => found !== undefined
        )
        if (other === undefined) throw new Error("no call")
        yield* hears(other, "Hello.")
        const ended = yield* server.api.post(`/v1/calls/${textAt(placed.body, "call_id")}/end`, {})
        expect([ended.status, other.isOver]).toEqual([200, true])

        const check = yield* SvcProcess.run(["plugins", "check", "twilio"], ServerProcess.environmentOf(options))
        expect([check.code, check.output]).toEqual([
          0,
          expect.stringContaining(`${env.SVC_BASE_URL} reaches this plugin`)
        ])
        const elsewhere = { ...options, env: { ...env, SVC_BASE_URL: carrier.origin } }
        const wrong = yield* SvcProcess.run(["plugins", "check", "twilio"], ServerProcess.environmentOf(elsewhere))
        expect(wrong.code).toBe(1)
        expect(wrong.output).toContain(`${carrier.origin}/telephony/twilio/voice answered`)
      }),
    { timeout: 180_000 }
  )
})
