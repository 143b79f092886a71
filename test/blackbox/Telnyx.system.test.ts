import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import type { EmulatedCall } from "@svc/plugin-telnyx/testing/EmulatedCall"
import { type EmulatedTelnyx, emulatedTelnyx } from "@svc/plugin-telnyx/testing/EmulatedTelnyx"
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

/** What a phone has heard, as words. */
const wordsOn = (call: EmulatedCall): string => {
  const bytes = call.heard()
  const ear = toneEar()
  const samples = new Int16Array(bytes.length)
  mulawToPcm(bytes, 0, bytes.length, samples, 0)
  for (let from = 0; from + 160 <= samples.length; from += 160) ear.push(samples.subarray(from, from + 160))
  return ear.text()
}

const hears = (call: EmulatedCall, words: string) =>
  eventually(
    `the phone hears "${words}"`,
    Effect.sync(() => wordsOn(call)),
    (heard) => heard.includes(words)
  )

/** Speaks in tone speech, a frame every 20 ms, with silence after it. */
const says = (call: EmulatedCall, words: string): Effect.Effect<void> => {
  const samples = toneVoice(words, 8000)
  const speech = new Uint8Array(samples.length)
  pcmToMulaw(samples, 0, samples.length, speech, 0)
  const silence = new Uint8Array(160).fill(0xff)
  const frames = [
    ...Array.from({ length: Math.floor(speech.length / 160) }, (_, n) => speech.subarray(n * 160, n * 160 + 160)),
    ...Array.from({ length: 50 }, () => silence)
  ]
  return Effect.forEach(
    frames,
    (frame) =>
      Effect.zipRight(
        Effect.sync(() => call.sendAudio(frame)),
        Effect.sleep(20)
      ),
    {
      discard: true
    }
  )
}

/** A server with the plugin, an emulated carrier, and an agent that has a number there. */
const setUp = Effect.gen(function* () {
  const carrier: EmulatedTelnyx = yield* emulatedTelnyx
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}`
  carrier.webhookUrl = `${url}/telephony/telnyx/voice`
  carrier.inventory.applications.push({ id: "app-1", webhook_event_url: carrier.webhookUrl })
  const env = {
    SVC_PORT: String(port),
    SVC_BASE_URL: url,
    SVC_PLUGINS: "@svc/plugin-telnyx,@svc/plugin-simulated",
    SVC_TELNYX_API_KEY: carrier.apiKey,
    SVC_TELNYX_PUBLIC_KEY: carrier.publicKey,
    SVC_TELNYX_API_URL: carrier.origin
  }
  const data = { url: yield* TestDatabase.freshUrl }
  const server = yield* ServerProcess.start({ data, keys: yield* ServerProcess.newKeys, env })
  const customer = yield* CustomerServer.start(() => Line.configuration({ otherwise: "You said {{user}}." }))
  const created = yield* server.api.post("/v1/agents", { name: "Line", server_url: customer.url })
  const agent_id = textAt(created.body, "agent.public_id")
  const [number = ""] = carrier.inventory.forSale
  const bought = yield* server.api.post("/v1/phone-numbers/purchase", { number, agent_id })
  expect([bought.status, textAt(bought.body, "phone_number.agent_id")]).toEqual([201, agent_id])
  return { carrier, server, number, agent_id, env }
})

describe("Calls of Telnyx", () => {
  it.scopedLive(
    "a number is bought and called, the agent and the caller hear each other, and the record says how",
    () =>
      Effect.gen(function* () {
        const { carrier, number, server } = yield* setUp
        const call = carrier.dial({ from: Line.caller, to: number })
        yield* hears(call, "Hello.")
        yield* says(call, "One two")
        yield* hears(call, "You said One two.")
        yield* carrier.hangUp(call)
        const list = yield* server.api.get("/v1/calls")
        const id = textAt(list.body, "calls.0.call_id")
        const record = yield* CallRecords.settled(server.api, id)
        expect(at(record, "line")).toMatchObject({ telephony: "telnyx", carrier_call_id: call.id, codec: "PCMU" })
        expect(textAt(record, "ended_reason")).toBe("caller-hangup")
      })
  )

  it.scopedLive("an outgoing call is answered, transferred through the API, and ends with the destination", () =>
    Effect.gen(function* () {
      const { agent_id, carrier, number, server } = yield* setUp
      carrier.addPhone("+12125557001", "answers")
      carrier.addPhone("+12125557002", "busy")
      carrier.addPhone("+12125557003", "answers")
      const placed = yield* server.api.post("/v1/calls", { agent_id, from_number: number, to_number: "+12125557001" })
      expect(placed.status, placed.text).toBe(201)
      const id = textAt(placed.body, "call_id")
      const call = yield* eventually(
        "the call at the carrier",
        Effect.sync(() => carrier.callTo("+12125557001")),
        (found) => found?.state === "answered"
      )
      if (call === undefined) return
      yield* hears(call, "Hello.")
      const busy = yield* server.api.post(`/v1/calls/${id}/transfer`, { destination: "+12125557002" })
      expect(busy.status).toBeGreaterThanOrEqual(400)
      const done = yield* server.api.post(`/v1/calls/${id}/transfer`, { destination: "+12125557003" })
      expect(done.status, done.text).toBe(200)
      const other = carrier.callTo("+12125557003")
      if (other !== undefined) yield* carrier.hangUp(other)
      const record = yield* CallRecords.settled(server.api, id)
      expect(textAt(record, "line.carrier_call_id")).toBe(call.id)
      expect(call.state).toBe("ended")
    })
  )

  it.scopedLive("text messages go out, and svc plugins check proves the key", () =>
    Effect.gen(function* () {
      const { carrier, env, number, server } = yield* setUp
      const sent = yield* server.api.post("/v1/sms/send", { from_number: number, to: "+12125557001", message: "Hi" })
      expect(sent.status, sent.text).toBeLessThan(300)
      yield* eventually(
        "the message",
        Effect.sync(() => carrier.messages),
        (messages) => messages.length === 1
      )
      const check = yield* SvcProcess.run(["plugins", "check", "telnyx"], { ...env, SVC_PLUGINS: "@svc/plugin-telnyx" })
      expect(check.output).toContain("the carrier has 1 numbers of this account")
      expect(check.code).toBe(0)
      const wrong = yield* SvcProcess.run(["plugins", "check", "telnyx"], {
        ...env,
        SVC_PLUGINS: "@svc/plugin-telnyx",
        SVC_TELNYX_API_KEY: "wrong"
      })
      expect(wrong.output).toContain("SVC_TELNYX_API_KEY was refused")
      expect(wrong.code).toBe(1)
    })
  )
})
