import { describe, expect, it } from "@effect/vitest"
import type { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Redacted } from "effect"
import * as Message from "../src/message/Message.ts"
import * as Uri from "../src/message/Uri.ts"
import { inOrderFor, transportOf, trunksOf as trunksFor } from "../src/Trunk.ts"
import type { TrunkSettings } from "../src/TrunkSettings.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

const trunksOf = (settings: TrunkSettings) => trunksFor(settings, ["udp"])

const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

const dial = ({ outbound }: typeof Telephony.Service, from: string) =>
  outbound === undefined ? Effect.dieMessage("no trunk") : outbound.dial({ callId: "call", to: "+4930", from, formats })

const uriOf = ({ port }: { readonly port: number }): string => `sip:127.0.0.1:${port}`

/** A port on which nothing listens. */
const deadPort = Effect.scoped(Effect.map(scriptedTrunk(), ({ port }) => port))

describe("Several trunks", () => {
  it("carry the calls of their numbers, and the first one those of the others", () => {
    const trunks = trunksOf({
      trunkUri: "sip:a.example",
      trunk2Uri: "sip:b.example",
      trunk2Numbers: "+4930123*",
      trunk3Uri: "sip:c.example",
      trunk3Numbers: "+493012345, +4940"
    })
    const order = (from: string) =>
      "problem" in trunks ? trunks.problem : inOrderFor(trunks, from).map(({ uri }) => uri.host[0])
    expect(order("+493012345")).toEqual(["b", "a", "c"])
    expect(order("4940")).toEqual(["c", "a", "b"])
    expect(order("+49401")).toEqual(["a", "b", "c"])
  })

  it("name the variable that is missing", () => {
    const trunkPassword = Redacted.make("secret")
    expect(trunksOf({ trunkPassword })).toEqual([])
    expect(trunksOf({ trunk2Password: trunkPassword })).toMatchObject({
      problem: expect.stringContaining("SVC_SIP_TRUNK2_URI is not set")
    })
    expect(trunksOf({ trunk2Uri: "sip:b.example", trunk2Register: true })).toEqual({
      problem: "SVC_SIP_TRUNK2_REGISTER needs SVC_SIP_TRUNK2_URI and SVC_SIP_TRUNK2_USERNAME"
    })
    expect(trunksOf({ trunk2Uri: "sip:b.example;transport=tcp" })).toEqual({
      problem: "SVC_SIP_TRUNK2_URI names a trunk over TCP: add tcp to SVC_SIP_TRANSPORTS"
    })
    expect(trunksOf({ register: true })).toEqual({
      problem: "SVC_SIP_REGISTER needs SVC_SIP_TRUNK_URI and SVC_SIP_TRUNK_USERNAME"
    })
  })

  it("are reached over the first transport where UDP is off and their URI names none", () => {
    const trunks = trunksFor({ trunkUri: "sip:192.0.2.1:5060" }, ["tcp", "tls"])
    expect("problem" in trunks ? trunks.problem : trunks.map(transportOf)).toEqual(["tcp"])
  })

  it("are reached over TLS where there is no other transport", () => {
    const uris = (transports: Parameters<typeof trunksFor>[1]) => {
      const trunks = trunksFor({ trunkUri: "sip:a.example", trunk2Uri: "sips:b.example" }, transports)
      return "problem" in trunks ? trunks.problem : trunks.map(({ uri }) => Uri.text(uri))
    }
    expect(uris(["tls"])).toEqual(["sip:a.example;transport=tls", "sips:b.example"])
    expect(uris(["udp", "tls"])).toEqual(["sip:a.example", "sips:b.example"])
    expect(uris(["udp"])).toBe("SVC_SIP_TRUNK2_URI names a trunk over TLS: add tls to SVC_SIP_TRANSPORTS")
  })

  it.scopedLive("take a call over the next one on 503, and not when the phone is busy", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* scriptedTrunk(), yield* scriptedTrunk()]
      const settings = { trunkUri: uriOf(first), trunk2Uri: uriOf(second), trunk2Numbers: "+4940*" }
      const { telephony } = yield* telephonyOf({ ...settings, rtpPorts: "32000-32099" })
      const call = yield* Effect.fork(Effect.flip(dial(telephony, "+4989")))
      first.respond(yield* first.request("INVITE"), 503)
      const invite = yield* second.request("INVITE")
      expect(invite.uri).toBe(`sip:+4930@127.0.0.1:${second.port}`)
      expect(Message.header(invite, "p-asserted-identity")).toBe(`<sip:+4989@127.0.0.1:${second.port}>`)
      second.respond(invite, 486)
      expect(yield* Fiber.join(call)).toMatchObject({ outcome: "busy", code: "486" })
      const own = yield* Effect.fork(Effect.flip(dial(telephony, "+49401")))
      second.respond(yield* second.request("INVITE"), 486)
      expect(yield* Fiber.join(own)).toMatchObject({ outcome: "busy" })
    })
  )

  it.scopedLive("take a call over the next one when the first is not there", () =>
    Effect.gen(function* () {
      const second = yield* scriptedTrunk()
      const settings = { trunkUri: `sip:127.0.0.1:${yield* deadPort};transport=tcp`, trunk2Uri: uriOf(second) }
      const { logged, telephony } = yield* telephonyOf({ ...settings, rtpPorts: "32000-32099" })
      const refused = yield* Effect.fork(Effect.flip(dial(telephony, "+4989")))
      second.respond(yield* second.request("INVITE"), 486)
      yield* Fiber.join(refused)
      const call = yield* Effect.fork(dial(telephony, "+4989"))
      second.respond(yield* second.request("INVITE"), 200, [], second.sdp)
      const leg = yield* Fiber.join(call)
      yield* second.request("ACK")
      leg.hangup("done")
      second.respond(yield* second.request("BYE"), 200)
      // The second call has not tried the first trunk again.
      expect(logged.filter(({ message }) => message.includes("goes on to"))).toHaveLength(1)
    })
  )

  it.scopedLive("register each with its own account, and unregister each", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* scriptedTrunk(), yield* scriptedTrunk()]
      const registered = (trunk: typeof first, user: string) =>
        Effect.gen(function* () {
          const register = yield* trunk.request("REGISTER")
          expect(Message.header(register, "from")).toContain(`<sip:${user}@127.0.0.1:${trunk.port}>`)
          trunk.respond(register, 200, [{ name: "expires", value: "60" }])
          yield* trunk.ping
        })
      const settings = { trunkUri: uriOf(first), trunkUsername: "a", register: true }
      const further = { trunk2Uri: uriOf(second), trunk2Username: "b", trunk2Register: true }
      const running = yield* Effect.fork(
        Effect.scoped(Effect.zipRight(telephonyOf({ ...settings, ...further, rtpPorts: "32000-32099" }), Effect.never))
      )
      yield* registered(first, "a")
      yield* registered(second, "b")
      const stopping = yield* Effect.fork(Fiber.interrupt(running))
      yield* Effect.forEach(
        [first, second],
        (trunk) =>
          Effect.map(trunk.request("REGISTER"), (last) => {
            expect(Message.header(last, "expires")).toBe("0")
            trunk.respond(last, 200)
          }),
        { concurrency: "unbounded" }
      )
      yield* Fiber.join(stopping)
    })
  )

  it.scopedLive("send calls from their own addresses beside those of SVC_SIP_ALLOW", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const settings = { trunkUri: "sip:192.0.2.1", trunk2Uri: uriOf(trunk), allow: "198.51.100.0/24" }
      const { telephony } = yield* telephonyOf({ ...settings, trunk2Numbers: "+4989", rtpPorts: "32000-32099" })
      const call = yield* Effect.fork(Effect.flip(dial(telephony, "+4989")))
      trunk.respond(yield* trunk.request("INVITE"), 603)
      expect(yield* Fiber.join(call)).toMatchObject({ code: "603" })
    })
  )
})
