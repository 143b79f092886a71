import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import { textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"
import { register } from "../src/sip/Registration.ts"
import { openRtp } from "../src/sip/RtpPhone.ts"
import { nextCall, openSip } from "../src/sip/SipPhone.ts"
import * as SipServer from "../src/sip/SipServer.ts"
import { headerOf } from "../src/sip/SipText.ts"
import { talkOn } from "../src/sip/Talk.ts"

it.scopedLive(
  "a registered phone is rung at its number of SVC_SIP_USERS: by POST /v1/calls, and by a transfer",
  () =>
    Effect.gen(function* () {
      const number = Line.freshNumber()
      const {
        phone: trunk,
        port,
        server
      } = yield* SipServer.phoneAndServer({
        data: { url: yield* TestDatabase.freshUrl },
        env: { SVC_SIP_USERS: `anna:secret:${number}` }
      })
      const toTrunk: Array<string> = []
      trunk.onStray = ({ start }) => toTrunk.push(start)
      const anna = yield* openSip
      anna.connect(port)
      expect(yield* register(anna, port, "anna", "wrong")).toBe(401)
      expect(yield* register(anna, port, "anna", "secret")).toBe(200)
      const line = yield* SipServer.openLine(server, () => Line.configuration({ otherwise: "Ok {{user}}." }))

      const ringing = yield* Effect.fork(nextCall(anna))
      const placed = yield* server.api.post("/v1/calls", { agent_id: line.agentId, to_number: number })
      const rung = yield* ringing
      const invite = yield* rung.until("INVITE")
      expect(invite.start).toBe(`INVITE sip:phone@127.0.0.1:${anna.port} SIP/2.0`)
      expect(headerOf(invite, "from")).toContain(line.number)
      rung.ring()
      rung.answer()
      yield* (yield* talkOn(rung.rtp)).hears("Hello.")
      rung.hangUp()
      expect(yield* CallRecords.settled(server.api, textAt(placed.body, "call_id"))).toMatchObject({
        status: "completed",
        disposition: "answered",
        to_number: number,
        line: { telephony: "sip", carrier_call_id: rung.id }
      })

      const rtp = yield* openRtp
      const caller = trunk.dial(line.number, Line.caller, rtp)
      const talk = yield* talkOn(rtp)
      yield* talk.hears("Hello.")
      const callId = yield* SipServer.lastCall(server, line)
      const coming = yield* Effect.fork(nextCall(anna))
      const transfer = yield* Effect.fork(server.api.post(`/v1/calls/${callId}/transfer`, { destination: number }))
      const second = yield* coming
      second.ring()
      second.answer()
      expect((yield* transfer).body).toEqual({ success: true, destination: number })
      const other = yield* talkOn(second.rtp, "anna")
      talk.say("Is this anna")
      yield* other.hears("Is this anna")
      second.hangUp()
      yield* caller.until("BYE")
      expect(yield* CallRecords.settled(server.api, callId)).toMatchObject({
        status: "completed",
        disposition: "transferred",
        transferred_to: number
      })
      expect(toTrunk.filter((start) => start.startsWith("INVITE "))).toEqual([])
      expect(caller.inbox.all.filter(({ start }) => start.startsWith("REFER "))).toEqual([])
    }),
  120_000
)
