import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Effect, Queue, Stream } from "effect"
import type * as Message from "../src/message/Message.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

/** The plugin with the pair of ports of one call, and a caller. `call`: the call of an INVITE with this Call-ID. */
const setUp = Effect.fn(function* (rtpPorts: string) {
  const { logged, port, telephony } = yield* telephonyOf({ rtpPorts })
  const caller = yield* scriptedTrunk(port)
  const calls = yield* Queue.unbounded<IncomingCall>()
  yield* Effect.forkScoped(Stream.runForEach(telephony.incoming, (call) => Queue.offer(calls, call)))
  const call = (id: string, headers: Message.Headers, body: Uint8Array) =>
    Effect.suspend(() => {
      caller.send({
        _tag: "Request",
        method: "INVITE",
        uri: `sip:+4930@127.0.0.1:${port}`,
        headers: [
          { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${caller.port};branch=z9hG4bK${id}` },
          { name: "from", value: "<sip:+4989@127.0.0.1>;tag=a" },
          { name: "to", value: "<sip:+4930@127.0.0.1>" },
          { name: "contact", value: `<sip:127.0.0.1:${caller.port}>` },
          { name: "call-id", value: id },
          { name: "cseq", value: "1 INVITE" },
          ...headers
        ],
        body
      })
      return Queue.take(calls)
    })
  const offering = (id: string) => call(id, [{ name: "content-type", value: "application/sdp" }], caller.sdp)
  return { call, caller, logged, offering }
})

const options = { callId: "c", formats: legFormats }

const gone = (first: number) => ({
  _tag: "CallGone",
  failed: true,
  reason: `all RTP ports from ${first} to ${first + 1} are in use; widen SVC_SIP_RTP_PORTS, two ports for each call`
})

describe("A call to us for which no RTP port is free", () => {
  it.scopedLive("gets 503, and fails with the setting to change, in the log too", () =>
    Effect.gen(function* () {
      const { caller, logged, offering } = yield* setUp("32800-32801")
      yield* (yield* offering("one")).answer(options)
      expect((yield* caller.response("INVITE")).status).toBe(200)
      const second = yield* offering("two")
      second.ringing("c")
      expect(yield* Effect.flip(second.answer(options))).toMatchObject(gone(32_800))
      expect((yield* caller.response("INVITE")).status).toBe(503)
      expect(logged.map(({ message }) => message).at(-1)).toBe(
        `SIP: a call from 127.0.0.1 was refused with 503, because ${gone(32_800).reason}`
      )
      // The engine may ask again.
      expect(yield* Effect.flip(second.answer(options))).toMatchObject(gone(32_800))
      const canceled = yield* Effect.fork(second.canceled)
      yield* Effect.yieldNow()
      expect(canceled.unsafePoll()).toBeNull()
    })
  )

  it.scopedLive("and that requires 100rel without an offer fails the same when the engine answers", () =>
    Effect.gen(function* () {
      const { call, caller, offering } = yield* setUp("32802-32803")
      yield* (yield* offering("one")).answer(options)
      expect((yield* caller.response("INVITE")).status).toBe(200)
      const second = yield* call("two", [{ name: "require", value: "100rel" }], new Uint8Array())
      second.ringing("c")
      expect(yield* Effect.flip(second.answer(options))).toMatchObject(gone(32_802))
      expect((yield* caller.response("INVITE")).status).toBe(503)
    })
  )
})
