import { createSocket } from "node:dgram"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { RouteRequest } from "@svc/providers/Route"
import type { Telephony } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import { masked } from "../src/Status.ts"
import { until } from "./BaresipPhone.ts"
import { PeerCall, telephonyOf } from "./PeerCall.ts"

type Service = typeof Telephony.Service

const ask = ({ routes }: Service, change: Partial<RouteRequest> = {}) =>
  Effect.gen(function* () {
    const route = routes.find(({ path }) => path === "/status")
    if (route?._tag !== "Http") return yield* Effect.dieMessage("there is no route for the status")
    const { body, status } = yield* route.handle({
      method: "GET",
      path: "/status",
      query: new URLSearchParams(),
      headers: {},
      body: new Uint8Array(),
      params: {},
      remoteAddress: "127.0.0.1",
      ...change
    })
    return { status, body: JSON.parse(String(body)) }
  })

const statusOf = (telephony: Service) => Effect.map(ask(telephony), ({ body }) => body)

describe("GET /telephony/sip/status", () => {
  it.scopedLive("lists a call from its ringing to its end on both sides, and then its packets in the totals", () =>
    Effect.gen(function* () {
      const server = yield* telephonyOf({ rtpPorts: "36000-36049" })
      const client = yield* telephonyOf({ rtpPorts: "36050-36099", trunkUri: `sip:127.0.0.1:${server.port}` })
      const { outbound } = client.telephony
      if (outbound === undefined) return yield* Effect.dieMessage("there is no way to place calls")
      const answer = yield* Deferred.make<void>()
      const answering = yield* Effect.fork(
        server.telephony.incoming.pipe(
          Stream.runHead,
          Effect.map(Option.getOrThrow),
          Effect.tap(() => Deferred.await(answer)),
          Effect.flatMap((incoming) => incoming.answer({ callId: incoming.id, formats: legFormats }))
        )
      )
      const dialling = yield* Effect.fork(
        outbound.dial({ callId: "one", to: "+493012345678", from: "+4989", formats: legFormats })
      )
      const ringing = { from: "…89", to: "+49…678", state: "ringing", codec: null, packets_lost: null, jitter_ms: null }
      yield* until("both list it", () => Effect.runSync(statusOf(server.telephony)).calls.length === 1)
      expect((yield* statusOf(client.telephony)).calls).toMatchObject([{ direction: "outbound", ...ringing }])
      expect((yield* statusOf(server.telephony)).calls).toMatchObject([{ direction: "inbound", ...ringing }])
      yield* Deferred.succeed(answer, undefined)
      const called = new PeerCall(yield* Fiber.join(answering))
      const caller = new PeerCall(yield* Fiber.join(dialling))
      yield* caller.playTone
      yield* until("audio", () => called.sounding > 2)
      const answered = { state: "answered", codec: "PCMA", packets_lost: 0, packets_late: 0 }
      expect((yield* statusOf(server.telephony)).calls).toMatchObject([{ ...answered, jitter_ms: expect.any(Number) }])
      expect((yield* statusOf(client.telephony)).calls).toMatchObject([answered])
      called.leg.hangup("done")
      yield* until("the end on the other side", () => caller.ending !== undefined)
      for (const { telephony } of [server, client]) {
        expect(yield* statusOf(telephony)).toMatchObject({
          calls: [],
          ended: { calls: 1, packets_lost: 0, packets_late: 0 }
        })
      }
    })
  )

  it.scopedLive("lists no call that was given up, rejected or canceled while it rang", () =>
    Effect.gen(function* () {
      const server = yield* telephonyOf({ rtpPorts: "36100-36149" })
      const client = yield* telephonyOf({ rtpPorts: "36150-36199", trunkUri: `sip:127.0.0.1:${server.port}` })
      const { outbound } = client.telephony
      if (outbound === undefined) return yield* Effect.dieMessage("there is no way to place calls")
      const dial = outbound.dial({ callId: "one", to: "+4930", from: "+4989", formats: legFormats })
      const next = Effect.map(Stream.runHead(server.telephony.incoming), Option.getOrThrow)
      const rejected = yield* Effect.fork(Effect.flip(dial))
      const first = yield* next
      first.reject("busy", "no agent is free")
      expect(yield* Fiber.join(rejected)).toMatchObject({ outcome: "busy" })
      const given = yield* Effect.fork(dial)
      const second = yield* next
      yield* Fiber.interrupt(given)
      yield* second.canceled
      for (const { telephony } of [server, client]) {
        expect(yield* statusOf(telephony)).toMatchObject({ calls: [], ended: { calls: 0 } })
      }
    })
  )

  it.scopedLive("shows trunks with why a registration failed, and sources that are ignored with their messages", () =>
    Effect.gen(function* () {
      const server = yield* telephonyOf({ rtpPorts: "36200-36249" }, { isAllowed: () => false })
      const trunk = yield* telephonyOf({ rtpPorts: "36250-36299" })
      const client = yield* telephonyOf({
        rtpPorts: "36300-36349",
        trunkUri: `sip:127.0.0.1:${trunk.port}`,
        trunkUsername: "alice",
        register: true
      })
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => createSocket("udp4")),
        (open) => Effect.sync(() => open.close())
      )
      for (const text of ["one", "two"]) socket.send(text, server.port, "127.0.0.1")
      yield* until("two messages", () => Effect.runSync(statusOf(server.telephony)).ignored[0]?.messages === 2)
      expect(yield* statusOf(server.telephony)).toMatchObject({
        version: 1,
        listening: { address: "127.0.0.1", port: server.port, transports: ["udp", "tcp"] },
        trunks: [],
        ignored: [{ address: "127.0.0.1", messages: 2 }]
      })
      // This plugin is no registrar.
      yield* until("the answer", () => Effect.runSync(statusOf(client.telephony)).trunks[0]?.state === "failed")
      expect((yield* statusOf(client.telephony)).trunks).toEqual([
        {
          trunk: `sip:127.0.0.1:${trunk.port}`,
          state: "failed",
          next_register_in_seconds: expect.any(Number),
          last_error: expect.stringMatching(/^405 /)
        }
      ])
    })
  )

  it.scopedLive("does not exist for other machines, also behind a proxy on this one", () =>
    Effect.gen(function* () {
      const { telephony } = yield* telephonyOf({ rtpPorts: "36350-36399" })
      expect((yield* ask(telephony, { remoteAddress: "::1" })).status).toBe(200)
      for (const change of [
        { remoteAddress: "192.0.2.1" },
        { remoteAddress: "127.0.0.1.example" },
        { headers: { "x-forwarded-for": "192.0.2.1" } },
        { headers: { forwarded: "for=192.0.2.1" } }
      ]) {
        expect(yield* ask(telephony, change)).toMatchObject({ status: 404, body: { code: "ROUTE_NOT_FOUND" } })
      }
    })
  )
})

describe("masked", () => {
  it.each([
    ["+493012345678", "+49…678"],
    ["1001", "…01"],
    ["sip:alice@192.0.2.1:5060", "…ce"],
    ["sips:+493012345678@192.0.2.1", "+49…678"],
    ["7", "…7"],
    [null, null]
  ])("shows %s as %s", (number, shown) => {
    expect(masked(number)).toBe(shown)
  })
})
