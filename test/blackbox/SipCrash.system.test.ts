import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Effect, Redacted } from "effect"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import { openRtp } from "../src/sip/RtpPhone.ts"
import { openSip } from "../src/sip/SipPhone.ts"
import * as SipServer from "../src/sip/SipServer.ts"
import { methodOf, statusOf } from "../src/sip/SipText.ts"
import { talkOn } from "../src/sip/Talk.ts"

it.scopedLive(
  "after a kill the next start closes the records of SIP calls, answers them with 481, and takes new calls on the same ports",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const phone = yield* openSip
      const rtpPort = (yield* freePort) & ~1
      const options = {
        data: { url: database },
        keys: yield* ServerProcess.newKeys,
        // One pair of ports.
        env: {
          SVC_SIP_BIND: `127.0.0.1:${yield* freePort}`,
          SVC_SIP_RTP_PORTS: `${rtpPort}-${rtpPort + 1}`
        }
      }
      const first = yield* SipServer.startServer(phone.port, options)
      phone.connect(first.port)
      const line = yield* SipServer.openLine(first.server, ({ body, event }) =>
        event === "call.started" && body["from"] === Line.caller
          ? Line.configuration({ otherwise: "Ok {{user}}." })
          : undefined
      )
      const dial = (from: string) =>
        Effect.gen(function* () {
          const rtp = yield* openRtp
          const call = phone.dial(line.number, from, rtp)
          return { call, talk: yield* talkOn(rtp) }
        })
      const talking = yield* dial(Line.caller)
      yield* talking.talk.hears("Hello.")
      const callId = yield* SipServer.lastCall(first.server, line)
      yield* eventually(
        "the greeting",
        first.server.api.get(`/v1/calls/${callId}`),
        ({ body }) => CallRecords.spoken(body).length === 1
      )
      const ringing = yield* dial(Line.freshNumber())
      yield* eventually(
        "the ringing",
        Effect.sync(() => ringing.call.state),
        (state) => state === "ringing"
      )
      const ringingId = yield* SipServer.lastCall(first.server, line)
      expect(ringingId).not.toBe(callId)
      yield* first.server.signal("SIGKILL")
      yield* first.server.exit()

      const { port, server } = yield* SipServer.startServer(phone.port, options)
      expect(port).toBe(first.port)
      const call = yield* CallRecords.settled(server.api, callId)
      expect(call).toMatchObject({
        status: "failed",
        disposition: "failed",
        ended_reason: "error",
        line: { telephony: "sip", carrier_call_id: talking.call.id }
      })
      expect(CallRecords.spoken(call)).toEqual(["assistant: Hello."])
      expect(yield* CallRecords.settled(server.api, ringingId)).toMatchObject({ status: "failed", transcript: [] })
      const events = yield* CallRecords.eventsOf(callId).pipe(Effect.provide(pool(Redacted.value(database), 1)))
      expect(CallRecords.misfitsOf(events)).toEqual([])
      expect(CallRecords.namesOf(events, "call.").slice(-2)).toEqual(["call.ended", "call.failed"])

      // The phone does not know that the server has died.
      for (const method of ["INFO", "OPTIONS", "UPDATE", "INVITE", "REFER", "BYE"]) {
        expect([method, statusOf(yield* talking.call.ask(method))]).toEqual([method, 481])
      }
      ringing.call.cancel()
      const canceled = yield* ringing.call.inbox.find("the answer to CANCEL", (one) => methodOf(one) === "CANCEL")
      expect(statusOf(canceled)).toBe(481)

      // The only pair of ports is free.
      const again = yield* dial(Line.caller)
      yield* again.talk.hears("Hello.")
      again.talk.say("Hi")
      yield* again.talk.hears("Ok Hi.")
      again.call.hangUp()
      const last = yield* SipServer.lastCall(server, line)
      expect(yield* CallRecords.settled(server.api, last)).toMatchObject({ status: "completed" })
    }),
  120_000
)
