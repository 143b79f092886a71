import { expect, it, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Context, Effect, Layer, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as Correlation from "../src/sip/Correlation.ts"
import { openRtp } from "../src/sip/RtpPhone.ts"
import { nextCall } from "../src/sip/SipPhone.ts"
import * as SipServer from "../src/sip/SipServer.ts"
import { headerOf, statusOf } from "../src/sip/SipText.ts"
import { type TimedFrame, talkOn } from "../src/sip/Talk.ts"

const echo = { otherwise: "Ok {{user}}." }

const installation = Effect.gen(function* () {
  const database = yield* TestDatabase.freshUrl
  const keys = yield* ServerProcess.newKeys
  const { phone, server } = yield* SipServer.phoneAndServer({ data: { url: database }, keys })
  const read = Effect.provide(pool(Redacted.value(database), 1))
  /** A person who calls and has heard the greeting. */
  const calling = (line: SipServer.SipLine) =>
    Effect.gen(function* () {
      const rtp = yield* openRtp
      const call = phone.dial(line.number, Line.caller, rtp)
      const talk = yield* talkOn(rtp)
      yield* eventually(
        "the answer",
        Effect.sync(() => `${call.state} ${call.status}`),
        (seen) => seen === "answered 200"
      )
      yield* talk.hears("Hello.")
      return { call, rtp, talk, callId: yield* SipServer.lastCall(server, line) }
    })
  return { phone, server, read, calling }
})

/** The one that tests share whose receivers get only the events of their own agents. */
class Installation extends Context.Tag("@svc/test/SipCallsInstallation")<
  Installation,
  Effect.Effect.Success<typeof installation>
>() {
  static readonly layer = Layer.scoped(Installation, installation)
}

const bytesOf = (url: string) => Effect.promise(async () => new Uint8Array(await (await fetch(url)).arrayBuffer()))

it.scopedLive(
  "a call over SIP is answered, has speech and digits both ways, and its record, events and recording are right",
  () =>
    Effect.gen(function* () {
      const { calling, read, server } = yield* installation
      const receiver = yield* CustomerServer.start(() => ({ json: {} }))
      yield* ApiClient.make(server.url, server.keys.org).post("/v1/webhooks", { url: receiver.url, events: ["*"] })
      const answer = Line.configuration(echo, { dtmf_actions: { "5": "five" } })
      const line = yield* SipServer.openLine(server, () => answer, { recording: true })
      const { call, callId, rtp, talk } = yield* calling(line)
      talk.say("Good morning")
      yield* talk.hears("Ok Good morning.")
      rtp.press("5")
      yield* receiver.until("call.dtmf.received")
      const info = yield* call.ask("INFO", [["content-type", "application/dtmf-relay"]], "Signal=#\r\nDuration=100\r\n")
      expect(statusOf(info)).toBe(200)
      talk.say("And goodbye")
      yield* talk.hears("Ok And goodbye.")
      // By now the recording follows the phone's clock, and changes no frames any more to do so.
      talk.say("See you again tomorrow at noon")
      yield* talk.hears("Ok See you again tomorrow at noon.")
      call.hangUp()
      const record = yield* CallRecords.settled(server.api, callId)
      expect(CallRecords.spoken(record)).toEqual([
        "assistant: Hello.",
        "user: Good morning",
        "assistant: Ok Good morning.",
        "user: And goodbye",
        "assistant: Ok And goodbye.",
        "user: See you again tomorrow at noon",
        "assistant: Ok See you again tomorrow at noon."
      ])
      expect(record).toMatchObject({
        status: "completed",
        disposition: "answered",
        ended_reason: "caller-hangup",
        from_number: Line.caller,
        to_number: line.number,
        line: { telephony: "sip", carrier_call_id: call.id, codec: "PCMU", packets_lost: 0, packets_late: 0 }
      })
      expect(Number(ApiClient.at(record, "line.jitter_ms"))).toBeLessThan(20)

      const ready = yield* receiver.until("call.recording_ready")
      const events = yield* read(CallRecords.eventsOf(callId))
      expect(CallRecords.misfitsOf(events)).toEqual([])
      expect(CallRecords.dataOf(events, "call.dtmf.received").map(({ action, digit }) => `${digit} ${action}`)).toEqual(
        ["5 five", "# unmapped"]
      )
      const names = ["call.ringing", "call.started", "call.ended", "call.recording_ready"]
      expect(CallRecords.namesOf(events, "call.").filter((name) => names.includes(name))).toEqual(names)
      for (const name of names) {
        expect(receiver.of(name).map(({ body }) => ApiClient.at(body, "data.call_id"))).toEqual([callId])
      }

      // What went and what came are in the recording, as far from each other as they were on the phone.
      const url = server.url + textAt(ready.body, "data.recording_url").replace(/^https?:\/\/[^/]+/, "")
      const { agent, caller, sampleRate } = yield* Correlation.decodeRecording(yield* bytesOf(url))
      expect(sampleRate).toBe(8000)
      const isSpeech = ({ pcm }: TimedFrame) => pcm.some((sample) => Math.abs(sample) > 1000)
      const left = Correlation.startOf(talk.spoken, caller)
      const right = Correlation.startOf(talk.received.filter(isSpeech), agent)
      expect(left.found).toBeGreaterThan(0.5)
      expect(right.found).toBeGreaterThan(0.5)
      expect(Math.abs(right.at - left.at)).toBeLessThan(100)
    }),
  120_000
)

layer(Installation.layer, { timeout: "90 seconds", excludeTestServices: true })("on one server", (it) => {
  it.scoped(
    "the agent's server gets the caller's headers, and the numbers in E.164 however the trunk writes them",
    () =>
      Effect.gen(function* () {
        const { phone, server } = yield* Installation
        const line = yield* SipServer.openLine(server, () => Line.configuration(echo))
        const call = phone.dial(line.number.slice(1), Line.caller.slice(1), yield* openRtp, [
          ["diversion", "<sip:+15550009999@trunk.example>;reason=unconditional"],
          ["x-customer", "4711"]
        ])
        const { body } = yield* line.customer.until("call.started")
        expect(body).toMatchObject({
          from: Line.caller,
          to: line.number,
          headers: { diversion: "<sip:+15550009999@trunk.example>;reason=unconditional", "x-customer": "4711" }
        })
        yield* eventually(
          "the answer",
          Effect.sync(() => call.state),
          (state) => state === "answered"
        )
        call.hangUp()
        const record = yield* CallRecords.settled(server.api, yield* SipServer.lastCall(server, line))
        expect(record).toMatchObject({ from_number: Line.caller, to_number: line.number })
      }),
    60_000
  )

  it.scoped(
    "a caller is transferred with REFER, whose NOTIFYs decide, and through a second call where REFER is refused",
    () =>
      Effect.gen(function* () {
        const { calling, phone, read, server } = yield* Installation
        const line = yield* SipServer.openLine(server, () => Line.configuration(echo))
        const destination = Line.freshNumber()
        const transfer = (callId: string) => server.api.post(`/v1/calls/${callId}/transfer`, { destination })

        const failing = yield* calling(line)
        const refused = yield* Effect.fork(transfer(failing.callId))
        yield* failing.call.until("REFER")
        expect(statusOf(yield* failing.call.notify("100 Trying"))).toBe(200)
        expect(statusOf(yield* failing.call.notify("486 Busy Here", true))).toBe(200)
        expect((yield* refused).status).not.toBe(200)
        failing.talk.say("Still here")
        yield* failing.talk.hears("Ok Still here.")
        failing.call.hangUp()
        expect((yield* CallRecords.settled(server.api, failing.callId))["transferred_to"]).toBeNull()

        const referred = yield* calling(line)
        const asked = yield* Effect.fork(transfer(referred.callId))
        const refer = yield* referred.call.until("REFER")
        expect(headerOf(refer, "refer-to")).toContain(`sip:${destination}@`)
        yield* referred.call.notify("100 Trying")
        yield* referred.call.notify("180 Ringing")
        yield* referred.call.notify("200 OK", true)
        expect((yield* asked).body).toEqual({ success: true, destination })
        yield* referred.call.until("BYE")
        const first = yield* CallRecords.settled(server.api, referred.callId)
        expect(first).toMatchObject({ status: "completed", disposition: "transferred", transferred_to: destination })

        const bridged = yield* calling(line)
        bridged.call.onRequest = ({ start }) => (start.startsWith("REFER ") ? 405 : undefined)
        const coming = yield* Effect.fork(nextCall(phone))
        const joining = yield* Effect.fork(transfer(bridged.callId))
        const second = yield* coming
        second.ring()
        second.answer()
        expect((yield* joining).body).toEqual({ success: true, destination })
        expect(headerOf(yield* second.until("INVITE"), "to")).toContain(destination)
        const other = yield* talkOn(second.rtp, "the destination")
        bridged.talk.say("Is this sales")
        yield* other.hears("Is this sales")
        other.say("It is")
        yield* bridged.talk.hears("It is")
        second.hangUp()
        yield* bridged.call.until("BYE")
        const record = yield* CallRecords.settled(server.api, bridged.callId)
        expect(record).toMatchObject({ status: "completed", disposition: "transferred", transferred_to: destination })
        const events = yield* read(CallRecords.eventsOf(bridged.callId))
        expect(CallRecords.namesOf(events, "transfer.")).toEqual(["transfer.initiated", "transfer.completed"])
      }),
    120_000
  )

  it.scoped(
    "a caller is transferred attended: the destination hears the announcement, and may decline by hanging up",
    () =>
      Effect.gen(function* () {
        const { calling, phone, server } = yield* Installation
        const line = yield* SipServer.openLine(server, () =>
          Line.configuration(echo, { transfer_announcement: "A call from {{from}}." })
        )
        const destination = Line.freshNumber()
        const { call, callId, talk } = yield* calling(line)
        const transferred = Effect.gen(function* () {
          const coming = yield* Effect.fork(nextCall(phone))
          const joining = yield* Effect.fork(server.api.post(`/v1/calls/${callId}/transfer`, { destination }))
          const second = yield* coming
          second.ring()
          second.answer()
          const other = yield* talkOn(second.rtp, "the destination")
          return { joining, other, second }
        })
        const declined = yield* transferred
        declined.second.hangUp()
        expect((yield* declined.joining).body).toMatchObject({ code: "TRANSFER_FAILED" })
        talk.say("Still here")
        yield* talk.hears("Ok Still here.")

        const { joining, other, second } = yield* transferred
        yield* other.hears(`A call from ${Line.caller}.`)
        expect((yield* joining).body).toEqual({ success: true, destination })
        talk.say("Is this sales")
        yield* other.hears("Is this sales")
        other.say("It is")
        yield* talk.hears("It is")
        expect(call.inbox.all.filter(({ start }) => start.startsWith("REFER "))).toEqual([])
        call.hangUp()
        yield* second.until("BYE")
        const record = yield* CallRecords.settled(server.api, callId)
        expect(record).toMatchObject({ status: "completed", disposition: "transferred", transferred_to: destination })
      }),
    120_000
  )

  it.scoped(
    "calls are placed through the trunk: one is answered and has speech, others are busy, declined or not answered",
    () =>
      Effect.gen(function* () {
        const { phone, server } = yield* Installation
        const line = yield* SipServer.openLine(server, () => Line.configuration(echo))
        const to_number = Line.freshNumber()
        const placed = Effect.gen(function* () {
          const coming = yield* Effect.fork(nextCall(phone))
          const fields = { agent_id: line.agentId, to_number, ring_timeout_seconds: 5 }
          const { body } = yield* server.api.post("/v1/calls", fields)
          return { call: yield* coming, callId: textAt(body, "call_id") }
        })
        const { call, callId } = yield* placed
        const invite = yield* call.until("INVITE")
        expect(invite.start).toContain(`sip:${to_number}@`)
        expect(headerOf(invite, "from")).toContain(line.number)
        call.ring()
        call.answer()
        const talk = yield* talkOn(call.rtp)
        yield* talk.hears("Hello.")
        talk.say("Who is there")
        yield* talk.hears("Ok Who is there.")
        call.hangUp()
        const record = yield* CallRecords.settled(server.api, callId)
        expect(record).toMatchObject({
          status: "completed",
          disposition: "answered",
          from_number: line.number,
          to_number,
          line: { telephony: "sip", carrier_call_id: call.id }
        })

        for (const [status, disposition] of [
          ["486 Busy Here", "busy"],
          ["480 Temporarily Unavailable", "no-answer"],
          ["603 Decline", "failed"]
        ] as const) {
          const refused = yield* placed
          refused.call.reject(status)
          expect([status, yield* CallRecords.settled(server.api, refused.callId)]).toMatchObject([
            status,
            { disposition, transcript: [] }
          ])
        }

        const ringing = yield* placed
        ringing.call.ring()
        yield* ringing.call.until("CANCEL")
        expect(yield* CallRecords.settled(server.api, ringing.callId)).toMatchObject({ disposition: "no-answer" })
      }),
    120_000
  )
})
