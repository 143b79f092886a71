import { describe, expect, it } from "@effect/vitest"
import { type Admission, CallerAuth } from "../../src/auth/CallerAuth.ts"
import * as Digest from "../../src/auth/Digest.ts"
import { nonceLifetimeMs } from "../../src/auth/DigestServer.ts"
import { Registrar } from "../../src/auth/Registrar.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import type { Peer } from "../../src/transaction/Peer.ts"

const peerAt = (address: string): Peer => ({ transport: "udp", address, port: 5060 })
const peer = peerAt("192.0.2.9")

/** When the tests begin, in ms of the process. */
const start = 1_000_000

let count = 0

const request = (method: string, headers: Message.Headers = []): Message.Request => ({
  _tag: "Request",
  method,
  uri: "sip:+4930@pbx.example",
  headers: [
    { name: "via", value: `SIP/2.0/UDP 192.0.2.9;branch=z9hG4bK${count++}` },
    { name: "from", value: "<sip:anna@pbx.example>;tag=1" },
    { name: "to", value: "<sip:anna@pbx.example>" },
    { name: "call-id", value: "call" },
    { name: "cseq", value: `${count} ${method}` },
    { name: "contact", value: "<sip:anna@192.0.2.9>" },
    ...headers
  ],
  body: Message.noBody
})

const setUp = (isKnown: (message: Message.Message) => boolean = () => false) => {
  const registrar = new Registrar()
  const caller = new CallerAuth({
    users: new Map([["anna", "right"]]),
    algorithms: ["SHA-256", "MD5"],
    registrar,
    key: Buffer.from("key"),
    random: () => String(count++).padStart(16, "0"),
    isKnown
  })
  const auth = {
    admit: (message: Message.Message, from: Peer, ms: number) => caller.admit(message, from, start + ms)
  }
  return { auth, registrar }
}

const challengeIn = (admission: Admission, algorithm: "MD5" | "SHA-256"): Digest.Challenge => {
  if (admission._tag !== "Respond") throw new Error(`no challenge: ${admission._tag}`)
  const all = Message.headers(admission.response, "www-authenticate").map(Digest.parseChallenge)
  const found = all.find((each) => each?.algorithm === algorithm)
  if (found === undefined) throw new Error(`no challenge with ${algorithm}`)
  return found
}

const answering = (challenge: Digest.Challenge, method: string, given: Partial<Digest.Credentials> = {}) =>
  request(method, [
    {
      name: "authorization",
      value: Digest.authorization(challenge, {
        username: "anna",
        password: "right",
        method,
        uri: "sip:+4930@pbx.example",
        count: 1,
        cnonce: "c",
        ...given
      })
    }
  ])

const statusOf = (admission: Admission) => (admission._tag === "Respond" ? admission.response.status : admission._tag)

describe("CallerAuth", () => {
  it("challenges an INVITE, and passes it with a right answer, MD5 and SHA-256, once", () => {
    for (const algorithm of ["MD5", "SHA-256"] as const) {
      const { auth } = setUp()
      const challenge = challengeIn(auth.admit(request("INVITE"), peer, 0), algorithm)
      expect(challenge.stale).toBe(false)
      expect(auth.admit(answering(challenge, "INVITE"), peer, 1000)).toEqual({ _tag: "Pass", user: "anna" })
      const replayed = auth.admit(answering(challenge, "INVITE"), peer, 2000)
      expect(challengeIn(replayed, algorithm).stale).toBe(true)
      const late = answering(challenge, "INVITE", { count: 2 })
      expect(challengeIn(auth.admit(late, peer, nonceLifetimeMs + 3000), algorithm).stale).toBe(true)
    }
  })

  it("answers the same for unknown users as for wrong passwords", () => {
    const { auth } = setUp()
    const challenge = challengeIn(auth.admit(request("INVITE"), peer, 0), "MD5")
    const shapes = [{ password: "wrong" }, { username: "nobody" }].map((given) => {
      const admission = auth.admit(answering(challenge, "INVITE", given), peer, 0)
      if (admission._tag !== "Respond") throw new Error(admission._tag)
      const { headers, reason, status } = admission.response
      return [status, reason, headers.map(({ name }) => name)]
    })
    expect(shapes[0]).toEqual(shapes[1])
    expect(shapes[0]?.[0]).toBe(401)
  })

  it("gives no answer to all else, and passes what belongs to a call", () => {
    const { auth } = setUp()
    for (const method of ["OPTIONS", "SUBSCRIBE", "MESSAGE", "BYE", "ACK", "CANCEL", "REFER"]) {
      expect([method, auth.admit(request(method), peer, 0)]).toEqual([method, { _tag: "Drop" }])
    }
    const response: Message.Response = { ...request("INVITE"), _tag: "Response", status: 200, reason: "OK" }
    expect(auth.admit(response, peer, 0)).toEqual({ _tag: "Drop" })
    const known = setUp(() => true).auth
    expect(known.admit(request("BYE"), peer, 0)).toEqual({ _tag: "Pass" })
  })

  it("answers with at most three times what came, and at most 20 times at once and 5 times a second", () => {
    const { auth } = setUp()
    const first = request("INVITE")
    const admission = auth.admit(first, peer, 0)
    if (admission._tag !== "Respond") throw new Error(admission._tag)
    expect(serialize(admission.response).length).toBeLessThan(3 * serialize(first).length)
    const answered = (from: (index: number) => Peer, now: number) =>
      Array.from({ length: 100 }, (_, index) => auth.admit(request("INVITE"), from(index), now)).filter(
        (each) => each._tag === "Respond"
      ).length
    expect(answered(() => peer, 0)).toBe(19)
    expect(answered(() => peer, 1000)).toBe(5)
    // A host has a whole /64 network of IPv6 addresses.
    expect(answered((index) => peerAt(`2001:db8:0:1::${index}`), 2000)).toBe(20)
    expect(answered((index) => peerAt(`198.51.100.${index}`), 3000)).toBe(100)
  })

  it("gives no answer after ten wrong passwords, until 30 s later, also to the right one", () => {
    const { auth } = setUp()
    const challenge = challengeIn(auth.admit(request("INVITE"), peer, 0), "MD5")
    for (let index = 0; index < 10; index++) {
      const tried = auth.admit(answering(challenge, "INVITE", { password: `${index}` }), peer, index * 1000)
      expect(statusOf(tried)).toBe(401)
    }
    expect(auth.admit(answering(challenge, "INVITE"), peer, 10_000)).toMatchObject({ _tag: "Drop" })
    expect(auth.admit(answering(challenge, "INVITE"), peerAt("192.0.2.10"), 10_000)).toMatchObject({ _tag: "Pass" })
    expect(auth.admit(answering(challenge, "INVITE", { count: 2 }), peer, 40_000)).toMatchObject({ _tag: "Pass" })
  })

  it("registers phones, and answers a retransmission of REGISTER as before", () => {
    const { auth, registrar } = setUp()
    const challenge = challengeIn(auth.admit(request("REGISTER"), peer, 0), "SHA-256")
    const register = answering(challenge, "REGISTER")
    const admission = auth.admit(register, peer, 0)
    expect(statusOf(admission)).toBe(200)
    expect(auth.admit(register, peer, 500)).toEqual(admission)
    expect(registrar.phones("anna", start + 1000)).toHaveLength(1)
    const wrong = auth.admit(answering(challenge, "REGISTER", { count: 2, password: "wrong" }), peer, 0)
    expect(statusOf(wrong)).toBe(401)
  })
})
