import { createHash } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { makeFailures } from "@svc/providers/RequestFailed"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Effect, Fiber, Queue } from "effect"
import { signatureOf } from "../src/Signature.ts"
import { startAt } from "../src/testing/TwilioSetup.ts"
import { calls, numbers, speak, until } from "./TestCalls.ts"

const twimlOf = (answers: ReadonlyArray<{ readonly url: string; readonly body: string }>) =>
  answers.filter(({ url }) => url.endsWith("/voice")).map(({ body }) => body)

describe("An incoming call of Twilio", () => {
  it.scopedLive(
    "has numbers, name and headers, and is one call when its request comes twice, with the same answer",
    () =>
      Effect.gen(function* () {
        const { carrier, incoming, server } = yield* calls()
        const fields = {
          CallSid: "CA1",
          AccountSid: carrier.accountSid,
          From: numbers.from,
          To: numbers.to,
          CallerName: "Ann Example",
          CallStatus: "ringing",
          "SipHeader_X-Ticket": "42"
        }
        const twice = yield* Effect.fork(
          Effect.replicateEffect(carrier.post(`${server.origin}/telephony/twilio/voice`, fields), 2, {
            concurrency: 2
          })
        )
        const offered = yield* Queue.take(incoming)
        expect(offered).toMatchObject({
          ...numbers,
          id: "CA1",
          callerName: "Ann Example",
          headers: { "X-Ticket": "42" }
        })
        offered.reject("busy")
        const answers = yield* Fiber.join(twice)
        expect(answers[0]).toContain('<Reject reason="busy"/>')
        expect(answers[1]).toBe(answers[0])
        expect(yield* carrier.post(`${server.origin}/telephony/twilio/voice`, fields)).toBe(answers[0])
        expect(yield* Queue.size(incoming)).toBe(0)
      })
  )

  it.scopedLive("has no caller's number where it is withheld", () =>
    Effect.gen(function* () {
      const { carrier, incoming } = yield* calls()
      for (const from of ["anonymous", "+266696687", "+7378742883", ""]) {
        carrier.dial({ from, to: numbers.to })
        const offered = yield* Queue.take(incoming)
        expect([from, offered.from]).toEqual([from, null])
        offered.reject("unavailable")
      }
    })
  )

  it.scopedLive("is refused without a valid signature, and the log says what to look at, once", () =>
    Effect.gen(function* () {
      const { carrier, double, incoming, server } = yield* calls({ authToken: "another" })
      const url = `${server.origin}/telephony/twilio/voice`
      expect(yield* carrier.post(url, { CallSid: "CA1", From: numbers.from, To: numbers.to })).toBe(null)
      const unsigned = yield* Effect.promise(() => fetch(url, { method: "POST", body: "CallSid=CA1" }))
      expect([unsigned.status, carrier.answers[0]?.status]).toEqual([403, 403])
      const warnings = double.logged.filter(({ level }) => level === "warning").map(({ message }) => message)
      expect(warnings.filter((text) => text.includes("X-Twilio-Signature"))).toHaveLength(1)
      expect(warnings.join()).toMatch(/SVC_BASE_URL.*SVC_TWILIO_AUTH_TOKEN/)
      const large = yield* Effect.promise(() => fetch(url, { method: "POST", body: "x".repeat(70_000) }))
      expect(large.status).toBe(413)
      expect(yield* Queue.size(incoming)).toBe(0)
    })
  )

  it.scopedLive("is offered for a query as it was sent, and for a body of JSON with its hash", () =>
    Effect.gen(function* () {
      const { carrier, incoming, server } = yield* calls()
      const voice = `${server.origin}/telephony/twilio/voice`
      const fields = { From: numbers.from, To: numbers.to, CallStatus: "ringing" }
      for (const query of ["Body=It's+amazing", "Body=It's%20amazing", "x"]) {
        yield* Effect.fork(carrier.post(`${voice}?${query}`, { ...fields, CallSid: `CA${query}` }))
        const offered = yield* Queue.take(incoming)
        expect(offered).toMatchObject({ ...numbers, id: `CA${query}` })
        offered.reject("busy")
      }
      const body = JSON.stringify({ ...fields, CallSid: "CAjson" })
      const send = (hash: string, text = body) => {
        const url = `${voice}?bodySHA256=${hash}`
        const headers = {
          "content-type": "application/json",
          "x-twilio-signature": signatureOf(carrier.authToken, url, new Map())
        }
        return Effect.promise(() => fetch(url, { method: "POST", headers, body: text }))
      }
      const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")
      expect((yield* send(hashOf("{}"))).status).toBe(403)
      expect((yield* send(hashOf("[]"), "[]")).status).toBe(400)
      const answer = yield* Effect.fork(send(hashOf(body)))
      const offered = yield* Queue.take(incoming)
      expect(offered).toMatchObject({ ...numbers, id: "CAjson" })
      offered.reject("busy")
      expect((yield* Fiber.join(answer)).status).toBe(200)
    })
  )

  it.scopedLive("that is over is not started again by its request", () =>
    Effect.gen(function* () {
      const { carrier, connect, incoming } = yield* calls()
      const { call, tags } = yield* connect
      yield* call.phone.hangup
      yield* until("the end", () => tags().includes("ended hangup"))
      expect(yield* carrier.post(carrier.webhooks.voice, call.fields)).toBe(null)
      expect(carrier.answers.at(-1)?.status).toBe(403)
      expect(yield* Queue.size(incoming)).toBe(0)
      // The first request once more.
      expect(yield* carrier.post(carrier.webhooks.voice, { ...call.fields, CallStatus: "ringing" })).toContain(
        "<Response><Hangup/></Response>"
      )
      expect(yield* Queue.size(incoming)).toBe(0)
      // Status callbacks that come late change nothing.
      yield* call.tellStatus()
      expect(carrier.answers.at(-1)?.status).toBe(204)
      expect(tags()).toEqual(["ended hangup"])
    })
  )

  it.scopedLive("that ends before its stream is there is given up, also when its status is not reported", () =>
    Effect.gen(function* () {
      const { carrier, incoming } = yield* calls()
      carrier.webhooks.status = undefined
      const call = carrier.dial(numbers)
      const offered = yield* Queue.take(incoming)
      call.status = "completed"
      const gone = yield* Effect.flip(
        offered.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      )
      expect([gone._tag, gone.reason]).toEqual(["CallGone", "the caller hung up"])
    })
  )

  it.scopedLive(
    "has failed when Twilio asks at /continue before its stream was there, and then reports completed",
    () =>
      Effect.gen(function* () {
        const { carrier, double, incoming } = yield* calls()
        const call = carrier.dial(numbers)
        call.refusesStream = true
        const offered = yield* Queue.take(incoming)
        const gone = yield* Effect.flip(
          offered.answer({ callId: "call_1", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
        )
        expect(gone).toMatchObject({ failed: true, reason: expect.stringContaining("did not open the media stream") })
        yield* until("the end at Twilio", () => call.status === "completed")
        expect(double.logged.map(({ message }) => message).join()).not.toContain("restarted")
      })
  )

  it.scopedLive("works below a path of the public address", () =>
    Effect.gen(function* () {
      const { carrier, connect, server } = yield* calls({ basePath: "/phones" })
      const { call, leg } = yield* connect
      expect(twimlOf(carrier.answers)[0]).toContain(
        `url="${server.origin.replace("http", "ws")}/phones/telephony/twilio/media"`
      )
      yield* speak(leg, 7, 12)
      yield* until("the audio", () => call.heard().includes(7))
    })
  )

  it.scopedLive("gives a media socket with a wrong token, or of another call, nothing before it is closed", () =>
    Effect.gen(function* () {
      const { carrier, connect, incoming, server } = yield* calls()
      const { tags } = yield* connect
      const failures = makeFailures({
        server: "svc",
        key: undefined,
        keySetting: "none",
        log: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
      })
      const used = twimlOf(carrier.answers)[0]?.match(/name="token" value="([^"]+)"/)?.[1]
      const ringing = carrier.dial(numbers)
      const offered = yield* Queue.take(incoming)
      const answering = yield* Effect.fork(
        offered.answer({ callId: "call_2", formats: [{ encoding: "mulaw", sampleRate: 8000 }] })
      )
      yield* until("the second answer", () => twimlOf(carrier.answers).length === 2)
      for (const [token, callSid] of [
        ["wrong", ringing.sid],
        [used, ringing.sid],
        [undefined, ringing.sid]
      ]) {
        const got: Array<string | Uint8Array> = []
        let code: number | undefined
        const socket = yield* WebSocketClient.open({
          url: `${server.origin}/telephony/twilio/media`,
          failures,
          onMessage: (message) => void got.push(message),
          onClosed: (closed) => {
            code = closed.code
          }
        })
        socket.send(JSON.stringify({ event: "connected", protocol: "Call", version: "1.0.0" }))
        const start = { streamSid: "MZ1", callSid, customParameters: token === undefined ? {} : { token } }
        socket.send(JSON.stringify({ event: "start", streamSid: "MZ1", start }))
        yield* until("the close", () => code !== undefined)
        expect([got, code]).toEqual([[], 1008])
      }
      // The calls are as before.
      yield* Fiber.join(answering)
      expect(tags()).toEqual([])
    })
  )

  it.scopedLive("that goes on after a restart is hung up when Twilio asks what to do, and the log says so", () =>
    Effect.gen(function* () {
      const { carrier, connect, server } = yield* calls()
      const { call } = yield* connect
      const restarted = yield* startAt(carrier, server)
      yield* call.breakStream
      yield* until("the end of the call", () => call.isOver)
      expect(restarted.double.logged.map(({ message }) => message).join()).toContain("since it was restarted")
    })
  )

  it.live("is hung up at Twilio when the server stops", () =>
    Effect.gen(function* () {
      const { carrier } = yield* Effect.scoped(
        Effect.gen(function* () {
          const made = yield* calls()
          yield* made.connect
          return made
        })
      )
      const ends = carrier.requests.filter(
        ({ body, path }) => path.includes("/Calls/") && body.toString() === "Status=completed"
      )
      expect(ends).toHaveLength(1)
    })
  )
})
