import { describe, expect, it } from "@effect/vitest"
import { type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Layer, Queue, Redacted } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import * as Message from "../src/message/Message.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"

const port = 27_260
const trunkPort = 27_270
const settings = { trunkUri: `sip:127.0.0.1:${trunkPort}`, rtpPorts: "27300-27349" }
const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

/** An answered call through the trunk, its dialog from the trunk's side, and the events of its leg. */
const connected = Effect.gen(function* () {
  const trunk = yield* scriptedTrunk(port, trunkPort)
  const { outbound } = yield* Telephony
  if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
  const call = yield* Effect.fork(outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats }))
  const invite = yield* trunk.request("INVITE")
  trunk.respond(invite, 200, [], trunk.sdp)
  const leg = yield* Fiber.join(call)
  yield* trunk.request("ACK")
  const events = yield* Queue.unbounded<CallEvent>()
  leg.listen((event) => {
    if (event._tag !== "Audio") Queue.unsafeOffer(events, event)
  })
  let dialog = Dialog.ofInvite(invite, "trunk")
  /** Sends a request of the trunk in the call, and gives the response to it. */
  const ask = (method: string, content: Dialog.Content = {}) =>
    Effect.gen(function* () {
      const [next, request] = Dialog.request(dialog, method, content)
      dialog = next
      const branch = `z9hG4bK${method}${next.localNumber}`
      const via = { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunkPort};branch=${branch}` }
      trunk.send({ ...request, headers: [via, ...request.headers] })
      return yield* trunk.response(method)
    })
  return { ask, events, leg, trunk, number: () => dialog.localNumber }
})

const sipfrag = (line: string): Dialog.Content => ({
  headers: [
    { name: "event", value: "refer" },
    { name: "content-type", value: "message/sipfrag" }
  ],
  body: Buffer.from(`${line}\r\n`)
})

const typed = { name: "content-type", value: "application/sdp" }

describe("An answered call", () => {
  it.live("is transferred with REFER, whose NOTIFYs are its progress, and hung up then", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      const refer = yield* trunk.request("REFER")
      expect(Message.header(refer, "refer-to")).toBe(`<sip:+4940@127.0.0.1:${trunkPort}>`)
      expect(Message.header(refer, "referred-by")).toContain("sip:+4989@")
      trunk.respond(refer, 202)
      expect((yield* ask("NOTIFY", sipfrag("SIP/2.0 100 Trying"))).status).toBe(200)
      yield* ask("NOTIFY", sipfrag("SIP/2.0 180 Ringing"))
      yield* ask("NOTIFY", sipfrag("SIP/2.0 200 OK"))
      expect([...(yield* Queue.takeN(events, 3))]).toMatchObject([
        { _tag: "TransferProgress", state: "ringing" },
        { _tag: "TransferProgress", state: "completed" },
        { _tag: "Ended", cause: "hangup" }
      ])
      trunk.respond(yield* trunk.request("BYE"), 200)
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("is transferred when the network hangs up after it has accepted REFER, without a NOTIFY", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      trunk.respond(yield* trunk.request("REFER"), 202)
      expect((yield* ask("BYE")).status).toBe(200)
      expect([...(yield* Queue.takeN(events, 2))]).toMatchObject([
        { _tag: "TransferProgress", state: "completed" },
        { _tag: "Ended", cause: "hangup" }
      ])
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("is transferred when the network hangs up while the destination rings", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      trunk.respond(yield* trunk.request("REFER"), 202)
      yield* ask("NOTIFY", sipfrag("SIP/2.0 180 Ringing"))
      yield* ask("BYE")
      expect([...(yield* Queue.takeN(events, 3))]).toMatchObject([
        { _tag: "TransferProgress", state: "ringing" },
        { _tag: "TransferProgress", state: "completed" },
        { _tag: "Ended", cause: "hangup" }
      ])
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("is not transferred when the dialog fails while the destination rings", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      trunk.respond(yield* trunk.request("REFER"), 202)
      yield* ask("NOTIFY", sipfrag("SIP/2.0 180 Ringing"))
      // The trunk does not know the call any more.
      leg.hold?.(true)
      trunk.respond(yield* trunk.request("INVITE"), 481)
      expect([...(yield* Queue.takeN(events, 2))]).toMatchObject([
        { _tag: "TransferProgress", state: "ringing" },
        { _tag: "Ended", cause: "failed", code: "481" }
      ])
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("says without a status that a transfer ended without a result", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      trunk.respond(yield* trunk.request("REFER"), 202)
      const { body, headers = [] } = sipfrag("SIP/2.0 100 Trying")
      const over = { name: "subscription-state", value: "terminated;reason=noresource" }
      yield* ask("NOTIFY", { headers: [...headers, over], ...(body === undefined ? {} : { body }) })
      const reason = "the transfer ended without a result"
      expect(yield* Queue.take(events)).toEqual({ _tag: "TransferProgress", state: "failed", reason })
      // One that the trunk has sent stays.
      leg.transferBlind?.("+4941")
      trunk.respond(yield* trunk.request("REFER"), 202)
      yield* ask("NOTIFY", sipfrag("SIP/2.0 500 Server Internal Error"))
      expect(yield* Queue.take(events)).toMatchObject({ state: "failed", reason: "500 Server Internal Error" })
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("is not transferred when the other side hangs up before it accepts REFER", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      yield* trunk.request("REFER")
      yield* ask("BYE")
      expect(yield* Queue.take(events)).toMatchObject({ _tag: "Ended", cause: "hangup" })
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("says that the network refuses REFER, and goes on", () =>
    Effect.gen(function* () {
      const { ask, events, leg, trunk } = yield* connected
      leg.transferBlind?.("+4940")
      trunk.respond(yield* trunk.request("REFER"), 405)
      expect(yield* Queue.take(events)).toMatchObject({ _tag: "TransferProgress", state: "failed", refused: true })
      expect((yield* ask("OPTIONS")).status).toBe(200)
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("is put on hold and taken back by re-INVITE and UPDATE, and refuses audio that it has not with 488", () =>
    Effect.gen(function* () {
      const { ask, events, number, trunk } = yield* connected
      const sdp = (...lines: ReadonlyArray<string>) => Buffer.concat([trunk.sdp, Buffer.from(lines.join("\r\n"))])
      const held = yield* ask("INVITE", { headers: [typed], body: sdp("a=sendonly\r\n") })
      expect(held.status).toBe(200)
      expect(Buffer.from(held.body).toString()).toContain("a=recvonly")
      expect([...(yield* Queue.takeN(events, 2))]).toEqual([
        { _tag: "Media", on: false },
        { _tag: "Hold", on: true }
      ])
      trunk.acknowledge(held, number())
      const back = yield* ask("UPDATE", { headers: [typed], body: sdp("a=sendrecv\r\n") })
      expect(Buffer.from(back.body).toString()).toContain("a=sendrecv")
      expect([...(yield* Queue.takeN(events, 2))]).toEqual([
        { _tag: "Media", on: true },
        { _tag: "Hold", on: false }
      ])
      const fax = Buffer.from(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=image 4000 udptl t38\r\n"
      )
      expect((yield* ask("UPDATE", { headers: [typed], body: fax })).status).toBe(488)
      yield* ask("BYE", { headers: [{ name: "reason", value: 'Q.850;cause=31;text="gone"' }] })
      expect(yield* Queue.take(events)).toEqual({ _tag: "Ended", cause: "hangup", code: "31", reason: "gone" })
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("sends digits by INFO to a phone without telephone events", () =>
    Effect.gen(function* () {
      const { leg, trunk } = yield* connected
      expect(leg.keyEvents).toBe(false)
      leg.sendDtmf?.("7#")
      for (const digit of ["7", "#"]) {
        const info = yield* trunk.request("INFO")
        expect(Buffer.from(info.body).toString()).toBe(`Signal=${digit}\r\nDuration=160\r\n`)
        trunk.respond(info, 200)
      }
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("sends the next digit by INFO when the one before it was answered", () =>
    Effect.gen(function* () {
      const { leg, trunk } = yield* connected
      leg.sendDtmf?.("12")
      const first = yield* trunk.request("INFO")
      // Longer than a digit and its pause: what comes now is the first INFO again.
      yield* Effect.sleep(400)
      const again = yield* trunk.request("INFO")
      expect(Message.cseq(again)).toEqual(Message.cseq(first))
      leg.sendDtmf?.("3")
      trunk.respond(first, 200)
      for (const digit of ["2", "3"]) {
        const info = yield* trunk.request("INFO")
        expect(Buffer.from(info.body).toString()).toContain(`Signal=${digit}`)
        trunk.respond(info, 500)
      }
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("sends the next digit by INFO also when the one before it is not answered within 5 s", () =>
    Effect.gen(function* () {
      const { leg, trunk } = yield* connected
      leg.sendDtmf?.("12")
      const first = yield* trunk.request("INFO")
      const next: Effect.Effect<Message.Request> = Effect.flatMap(trunk.request("INFO"), (info) =>
        Message.cseq(info)?.number === Message.cseq(first)?.number ? next : Effect.succeed(info)
      )
      expect(Buffer.from((yield* next).body).toString()).toContain("Signal=2")
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings)))
  )

  it.live("ends when the other side does not answer any more", () =>
    Effect.gen(function* () {
      const { events, trunk } = yield* connected
      yield* trunk.request("OPTIONS")
      expect(yield* Queue.take(events)).toMatchObject({ _tag: "Ended", cause: "failed", code: "408" })
      yield* trunk.request("BYE")
    }).pipe(Effect.scoped, Effect.provide(plugin(port, settings, { peerTimeouts: { silence: 50, probe: 50 } })))
  )
})

describe("Registration at the trunk", () => {
  it.live("sends credentials, and ends with the plugin", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const scope = yield* Effect.scope
      const layer = plugin(port, {
        ...settings,
        trunkUsername: "user",
        trunkPassword: Redacted.make("secret"),
        register: true
      })
      const running = yield* Effect.forkIn(Effect.scoped(Effect.zipRight(Layer.build(layer), Effect.never)), scope)
      const first = yield* trunk.request("REGISTER")
      expect(first.uri).toBe(`sip:127.0.0.1:${trunkPort}`)
      trunk.respond(first, 401, [{ name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }])
      const second = yield* trunk.request("REGISTER")
      expect(Message.header(second, "authorization")).toContain('username="user"')
      expect(Message.header(second, "contact")).toBe(`<sip:user@127.0.0.1:${port}>`)
      trunk.respond(second, 200, [{ name: "expires", value: "60" }])
      // The server must have seen the response before it stops.
      yield* trunk.ping
      const stopping = yield* Effect.fork(Fiber.interrupt(running))
      const last = yield* trunk.request("REGISTER")
      expect(Message.header(last, "expires")).toBe("0")
      trunk.respond(last, 200)
      yield* Fiber.join(stopping)
    }).pipe(Effect.scoped)
  )
})
