import { describe, expect, it } from "@effect/vitest"
import { type OutgoingCall, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Queue } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import * as Message from "../src/message/Message.ts"
import * as Parser from "../src/message/Parser.ts"
import { serialize } from "../src/message/Serializer.ts"
import * as Tcp from "../src/transport/Tcp.ts"
import * as Udp from "../src/transport/Udp.ts"
import { plugin } from "./SipPhones.ts"

interface Received {
  readonly transport: "udp" | "tcp"
  readonly request: Message.Request
  readonly respond: (status: number) => void
}

/** A trunk on a free UDP port, that takes TCP on the same port or refuses it, with the requests that it gets. */
const trunk = (takesTcp: boolean) =>
  Effect.gen(function* () {
    const requests = yield* Queue.unbounded<Received>()
    const receive = (transport: Received["transport"], bytes: Uint8Array, send: (answer: Uint8Array) => void): void => {
      const parsed = Parser.parse(bytes, transport === "tcp")
      if (parsed._tag !== "Message" || parsed.message._tag !== "Request") return
      const request = parsed.message
      Queue.unsafeOffer(requests, {
        transport,
        request,
        respond: (status) => send(serialize(Dialog.respond(request, status, "R", "trunk")))
      })
    }
    const udp: Udp.Udp = yield* Udp.listen("127.0.0.1", 0, (bytes, address, port) =>
      receive("udp", bytes, (answer) => udp.send(answer, address, port))
    )
    if (takesTcp) {
      const tcp: Tcp.Tcp = yield* Tcp.listen({
        address: "127.0.0.1",
        port: udp.port,
        isAllowed: () => true,
        onMessage: (bytes, from) => {
          receive("tcp", bytes, (answer) => tcp.send(answer, from, () => {}))
          return true
        }
      })
    }
    return { port: udp.port, requests }
  })

/** Places a call, and gives the INVITE that the trunk gets first; its outcome is a failure. */
const placed = (
  telephony: Telephony["Type"],
  requests: Queue.Queue<Received>,
  headers: NonNullable<OutgoingCall["headers"]>
) =>
  Effect.gen(function* () {
    const { outbound } = telephony
    if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
    const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const
    const call = yield* Effect.fork(
      Effect.flip(outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats, headers }))
    )
    const invite = yield* Queue.take(requests)
    invite.respond(486)
    expect(yield* Fiber.join(call)).toMatchObject({ outcome: "busy", code: "486" })
    const ack = yield* Queue.take(requests)
    expect([ack.request.method, ack.transport]).toEqual(["ACK", invite.transport])
    return invite
  })

const long = { "X-Long": "x".repeat(900) }

const withTrunk = (
  takesTcp: boolean,
  transports: string,
  run: (telephony: Telephony["Type"], requests: Queue.Queue<Received>) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const { port, requests } = yield* trunk(takesTcp)
    const layer = plugin(0, { trunkUri: `sip:127.0.0.1:${port}`, rtpPorts: "30100-30149", transports })
    yield* Effect.flatMap(Telephony, (telephony) => run(telephony, requests)).pipe(Effect.provide(layer))
  }).pipe(Effect.scoped)

const via = ({ request }: Received): string => Message.headers(request, "via")[0] ?? ""

describe("A request over 1300 bytes to a UDP trunk", () => {
  it.live("goes by TCP, with that in Via, and a smaller one over UDP", () =>
    withTrunk(true, "udp,tcp", (telephony, requests) =>
      Effect.gen(function* () {
        const large = yield* placed(telephony, requests, long)
        expect(serialize(large.request).length).toBeGreaterThan(1300)
        expect([large.transport, via(large).slice(0, 12)]).toEqual(["tcp", "SIP/2.0/TCP "])
        const small = yield* placed(telephony, requests, {})
        expect([small.transport, via(small).slice(0, 12)]).toEqual(["udp", "SIP/2.0/UDP "])
      }).pipe(Effect.orDie)
    )
  )

  it.live("goes over UDP when TCP is refused, and the next one at once", () =>
    withTrunk(false, "udp,tcp", (telephony, requests) =>
      Effect.gen(function* () {
        for (const _ of [1, 2]) {
          const large = yield* placed(telephony, requests, long)
          expect(serialize(large.request).length).toBeGreaterThan(1300)
          expect([large.transport, via(large).slice(0, 12)]).toEqual(["udp", "SIP/2.0/UDP "])
        }
      }).pipe(Effect.orDie)
    )
  )

  it.live("goes over UDP where TCP is not among the transports", () =>
    withTrunk(true, "udp", (telephony, requests) =>
      Effect.gen(function* () {
        expect((yield* placed(telephony, requests, long)).transport).toBe("udp")
      }).pipe(Effect.orDie)
    )
  )
})
