import { describe, expect, it } from "@effect/vitest"
import { type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Option, Queue, Redacted, Stream } from "effect"
import { authorized, noCredentials } from "../src/dialog/Account.ts"
import * as Message from "../src/message/Message.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"

const port = 27_190
const number = "+12025550123"
const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

/** The plugin without a trunk, with a phone that has a number and one that has none. */
const withPhones = Effect.provide(
  plugin(port, { users: Redacted.make(`anna:secret:${number},door:other`), rtpPorts: "30600-30699" })
)

const dial = (to: string) =>
  Effect.gen(function* () {
    const { outbound } = yield* Telephony
    if (outbound === undefined) return yield* Effect.dieMessage("no outbound calls")
    return yield* outbound.dial({ callId: "c", to, from: "+12025550100", formats })
  })

/** Calls with a user's password and this number in From, and gives the caller of the call that comes. */
const callerOf = (user: string, password: string) =>
  Effect.gen(function* () {
    const phone = yield* scriptedTrunk(port)
    const { incoming } = yield* Telephony
    const call = yield* Effect.fork(Stream.runHead(incoming))
    const invite: Message.Request = {
      _tag: "Request",
      method: "INVITE",
      uri: `sip:+4930@127.0.0.1:${port}`,
      headers: [
        { name: "from", value: "<sip:+15550109999@pbx.example>;tag=a" },
        { name: "to", value: "<sip:+4930@127.0.0.1>" },
        { name: "contact", value: `<sip:127.0.0.1:${phone.port}>` },
        { name: "call-id", value: user },
        { name: "cseq", value: "1 INVITE" },
        { name: "max-forwards", value: "70" },
        { name: "content-type", value: "application/sdp" }
      ],
      body: phone.sdp
    }
    const send = (given: Message.Request, branch: string) => {
      const via = { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${phone.port};branch=z9hG4bK${user}${branch}` }
      phone.send({ ...given, headers: [via, ...given.headers] })
    }
    send(invite, "one")
    const challenge = yield* phone.response("INVITE")
    const account = { username: user, password }
    const [again] = authorized({ account, salt: "s", credentials: noCredentials }, invite, challenge, 2) ?? [invite]
    send(again, "two")
    const found = Option.getOrThrow(yield* Fiber.join(call))
    found.reject("busy")
    return found.from
  })

describe("A call of a phone with a password", () => {
  it.live("is from the number of its user, or else the user's name, whatever its From claims", () =>
    Effect.gen(function* () {
      expect(yield* callerOf("anna", "secret")).toBe(number)
      expect(yield* callerOf("door", "other")).toBe("sip:door@pbx.example")
    }).pipe(withPhones, Effect.scoped)
  )
})

/** A phone that has registered as anna. */
const anna = Effect.gen(function* () {
  const phone = yield* scriptedTrunk(port)
  const request: Message.Request = {
    _tag: "Request",
    method: "REGISTER",
    uri: `sip:127.0.0.1:${port}`,
    headers: [
      { name: "from", value: "<sip:anna@127.0.0.1>;tag=a" },
      { name: "to", value: "<sip:anna@127.0.0.1>" },
      { name: "contact", value: `<sip:line1@127.0.0.1:${phone.port}>` },
      { name: "call-id", value: "registration" },
      { name: "cseq", value: "1 REGISTER" },
      { name: "max-forwards", value: "70" }
    ],
    body: Message.noBody
  }
  const send = (given: Message.Request, branch: string) => {
    const via = { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${phone.port};branch=z9hG4bK${branch}` }
    phone.send({ ...given, headers: [via, ...given.headers] })
    return phone.response("REGISTER")
  }
  const account = { username: "anna", password: "secret" }
  const challenge = yield* send(request, "one")
  const [again] = authorized({ account, salt: "s", credentials: noCredentials }, request, challenge, 2) ?? [request]
  expect((yield* send(again, "two")).status).toBe(200)
  return phone
})

describe("A phone with a number of its own", () => {
  it.live("is called at the number, where it has registered", () =>
    Effect.gen(function* () {
      const phone = yield* anna
      const call = yield* Effect.fork(dial(number))
      const invite = yield* phone.request("INVITE")
      expect(invite.uri).toBe(`sip:line1@127.0.0.1:${phone.port}`)
      expect(Message.header(invite, "from")).toContain("<sip:+12025550100@127.0.0.1")
      phone.respond(invite, 200, [], phone.sdp)
      const leg = yield* Fiber.join(call)
      yield* phone.request("ACK")
      leg.hangup("done")
      yield* phone.request("BYE")
    }).pipe(withPhones, Effect.scoped)
  )

  it.live(
    "cannot be called while it has not registered, which is no missing answer, and other numbers need a trunk",
    () =>
      Effect.gen(function* () {
        // A transfer gives the reason to the model, and the advice to nobody but the log.
        expect(yield* Effect.flip(dial(number))).toMatchObject({
          outcome: "failed",
          code: "480",
          reason: "the phone is not registered",
          advice: "let it register with its name and password in SVC_SIP_USERS"
        })
        expect(yield* Effect.flip(dial("+12025550124"))).toMatchObject({
          outcome: "failed",
          reason: "no trunk is configured",
          advice: "set SVC_SIP_TRUNK_URI"
        })
      }).pipe(withPhones, Effect.scoped)
  )

  it.live("is no target of REFER, so that the engine calls it and joins the caller", () =>
    Effect.gen(function* () {
      const phone = yield* anna
      const call = yield* Effect.fork(dial(number))
      phone.respond(yield* phone.request("INVITE"), 200, [], phone.sdp)
      const leg = yield* Fiber.join(call)
      const events = yield* Queue.unbounded<CallEvent>()
      leg.listen((event) => Queue.unsafeOffer(events, event))
      leg.transferBlind?.(number)
      expect(yield* Queue.take(events)).toMatchObject({ _tag: "TransferProgress", state: "failed", refused: true })
    }).pipe(withPhones, Effect.scoped)
  )
})
