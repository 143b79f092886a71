import { describe, expect, it } from "@effect/vitest"
import type { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Redacted } from "effect"
import { matcher } from "../src/Cidr.ts"
import { privateRanges, startWarnings } from "../src/StartWarnings.ts"
import { type Trunk, trunksOf } from "../src/Trunk.ts"
import { failureText, unreachedText } from "../src/TrunkAdvice.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

const dial = ({ outbound }: typeof Telephony.Service) =>
  outbound === undefined
    ? Effect.dieMessage("no trunk")
    : outbound.dial({ callId: "call", to: "+4930", from: "+4989", formats })

const rtpPorts = "32400-32499"

describe("An error of the trunk", () => {
  it.scopedLive("names the settings in the advice of the failed call, not in its reason, and in the log", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const { logged, telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${trunk.port}` })
      for (const [status, setting] of [
        [403, "SVC_SIP_TRUNK_USERNAME and SVC_SIP_TRUNK_PASSWORD"],
        [404, "SVC_SIP_TRUNK_URI"],
        [488, "SVC_SIP_CODECS"]
      ] as const) {
        const call = yield* Effect.fork(Effect.flip(dial(telephony)))
        trunk.respond(yield* trunk.request("INVITE"), status)
        const failure = yield* Fiber.join(call)
        expect(failure.code).toBe(String(status))
        expect(failure.reason).toBe(`${status} R`)
        expect(failure.advice).toContain(setting)
      }
      const lines = logged.map(({ message }) => message)
      expect(lines.some((line) => line.includes("(403)") && line.includes("SVC_SIP_TRUNK_PASSWORD"))).toBe(true)
    })
  )

  it.scopedLive("names SVC_SIP_TRUNK_URI when DNS has no address of it", () =>
    Effect.gen(function* () {
      const names = { services: () => Effect.succeed([]), addresses: () => Effect.succeed([]) }
      const { telephony } = yield* telephonyOf({ rtpPorts, trunkUri: "sip:trunk.example" }, { names })
      const { advice, reason } = yield* Effect.flip(dial(telephony))
      expect(reason).toContain("DNS has no address of trunk.example")
      expect(reason).not.toContain("SVC_SIP")
      expect(advice).toContain("SVC_SIP_TRUNK_URI")
    })
  )

  it.scopedLive("says that a registration failed because DNS has no address, or there is no connection", () =>
    Effect.gen(function* () {
      const account = { trunkUsername: "user", trunkPassword: Redacted.make("secret"), register: true }
      const names = { services: () => Effect.succeed([]), addresses: () => Effect.succeed([]) }
      const unknown = yield* telephonyOf({ rtpPorts, trunkUri: "sip:trunk.example", ...account }, { names })
      expect(yield* unknown.telephony.check ?? Effect.dieMessage("no check")).toEqual({
        healthy: false,
        reason:
          "the trunk of SVC_SIP_TRUNK_URI did not register us: it cannot be reached: DNS has no address of trunk.example; " +
          "check SVC_SIP_TRUNK_URI, and that its address can be reached from this machine"
      })
      const port = yield* Effect.scoped(Effect.map(scriptedTrunk(), (trunk) => trunk.port))
      const closed = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${port};transport=tcp`, ...account })
      expect(yield* closed.telephony.check ?? Effect.dieMessage("no check")).toMatchObject({
        healthy: false,
        reason: expect.stringContaining(
          `did not register us: it cannot be reached: no connection to 127.0.0.1:${port} over TCP`
        )
      })
    })
  )

  it("says that no response came, from where, and for how long", () => {
    const [trunk] = trunksOf({ trunkUri: "sip:trunk.example:5070" }, ["udp"]) as ReadonlyArray<Trunk>
    if (trunk === undefined) return expect.fail("no trunk")
    expect(unreachedText(trunk, "timeout", undefined)).toBe("no response from trunk.example:5070 over UDP within 32 s")
  })

  it.scopedLive("is the health of a registration, and the result of its check", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const account = { trunkUsername: "user", trunkPassword: Redacted.make("wrong"), register: true }
      const { telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${trunk.port}`, ...account })
      if (telephony.check === undefined) return yield* Effect.dieMessage("no check")
      const check = yield* Effect.fork(telephony.check)
      trunk.respond(yield* trunk.request("REGISTER"), 403)
      const found = yield* Fiber.join(check)
      expect(found).toEqual(yield* telephony.health)
      expect(found).toMatchObject({ healthy: false, reason: expect.stringContaining("SVC_SIP_TRUNK_PASSWORD") })
    })
  )
})

describe("The check of a trunk without registration", () => {
  it.scopedLive("asks with OPTIONS, and answers a challenge", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const account = { trunkUsername: "user", trunkPassword: Redacted.make("secret") }
      const { telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${trunk.port}`, ...account })
      if (telephony.check === undefined) return yield* Effect.dieMessage("no check")
      const challenge = [{ name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }]
      const first = yield* Effect.fork(telephony.check)
      trunk.respond(yield* trunk.request("OPTIONS"), 401, challenge)
      trunk.respond(yield* trunk.request("OPTIONS"), 200)
      expect(yield* Fiber.join(first)).toEqual({ healthy: true })
      const second = yield* Effect.fork(telephony.check)
      trunk.respond(yield* trunk.request("OPTIONS"), 401, challenge)
      trunk.respond(yield* trunk.request("OPTIONS"), 401, challenge)
      expect(yield* Fiber.join(second)).toMatchObject({
        healthy: false,
        reason: expect.stringContaining("SVC_SIP_TRUNK_PASSWORD")
      })
    })
  )

  it.scopedLive("fails when a connection is refused", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(Effect.map(scriptedTrunk(), (trunk) => trunk.port))
      const { telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${port};transport=tcp` })
      expect(yield* telephony.check ?? Effect.dieMessage("no check")).toMatchObject({
        healthy: false,
        reason: expect.stringContaining("SVC_SIP_TRUNK_URI")
      })
    })
  )
})

describe("startWarnings", () => {
  const trunks = trunksOf({ trunkUri: "sip:trunk.example" }, ["udp"])
  const given = {
    bind: "0.0.0.0",
    isLimited: true,
    trunks: "problem" in trunks ? [] : trunks,
    addressesOf: () => ["trunk.example", "198.51.100.7"],
    addressFor: () => "203.0.113.5"
  }

  it("says who may call when SVC_SIP_ALLOW is not set, unless only this machine can", () => {
    expect(startWarnings(given)).toEqual([])
    expect(startWarnings({ ...given, isLimited: false })).toEqual([expect.stringContaining("SVC_SIP_ALLOW")])
    expect(startWarnings({ ...given, isLimited: false, bind: "127.0.0.1" })).toEqual([])
  })

  it("names SVC_SIP_EXTERNAL_ADDRESS when a public trunk would get a private address", () => {
    for (const address of ["192.168.1.5", "100.64.0.1", "fd00::1"]) {
      expect(startWarnings({ ...given, addressFor: () => address })).toEqual([
        expect.stringContaining(`answer to ${address}`)
      ])
    }
    const near = { ...given, addressesOf: () => ["192.168.1.9"], addressFor: () => "192.168.1.5" }
    expect(startWarnings(near)).toEqual([])
    expect(matcher(privateRanges)("172.31.255.255")).toBe(true)
  })
})

describe("A call with a host name in its session description", () => {
  it.scopedLive("gets 488, and the log says that host names are not supported", () =>
    Effect.gen(function* () {
      const { logged, port } = yield* telephonyOf({ rtpPorts })
      const caller = yield* scriptedTrunk(port)
      caller.send({
        _tag: "Request",
        method: "INVITE",
        uri: `sip:+4930@127.0.0.1:${port}`,
        headers: [
          { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${caller.port};branch=z9hG4bKhost` },
          { name: "from", value: "<sip:+4989@127.0.0.1>;tag=a" },
          { name: "to", value: "<sip:+4930@127.0.0.1>" },
          { name: "contact", value: `<sip:127.0.0.1:${caller.port}>` },
          { name: "call-id", value: "host" },
          { name: "cseq", value: "1 INVITE" },
          { name: "content-type", value: "application/sdp" }
        ],
        body: Buffer.from(caller.sdp.toString().replace("c=IN IP4 127.0.0.1", "c=IN IP4 localhost"))
      })
      expect(yield* caller.response("INVITE")).toMatchObject({ status: 488 })
      const line = logged.map(({ message }) => message).find((each) => each.includes("refused with 488"))
      expect(line).toContain("audio at localhost, and host names are not supported")
      expect(line).not.toContain("SVC_SIP_CODECS")
    })
  )
})

describe("failureText", () => {
  it("has the status of the trunk first, and for an answer that cannot be used what it has", () => {
    const trunk = { variable: "SVC_SIP_TRUNK" }
    expect(failureText(trunk, 403, "Forbidden", false)).toBe("403 Forbidden")
    expect(failureText(trunk, 503, "", false)).toBe("503 from the trunk")
    expect(failureText(trunk, 408, "no response", true)).toBe("no response")
    expect(failureText(trunk, 200, "no session description", false)).toBe(
      "the trunk answered 200 with no session description"
    )
    expect(failureText({ variable: "" }, 200, "no audio", false)).toBe("the phone answered 200 with no audio")
  })
})
