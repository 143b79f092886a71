import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import { WebSocket } from "ws"
import { call } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }
const plugin = fileURLToPath(new URL("../fixtures/hostile/Plugin.mjs", import.meta.url))

/** A server with the simulated network and a plugin that does what no plugin may do. */
const withHostilePlugin = Effect.gen(function* () {
  const database = yield* TestDatabase.freshUrl
  const keys = yield* ServerProcess.newKeys
  const server = yield* ServerProcess.start({
    data: { url: database },
    keys,
    env: { SVC_PLUGINS: `@svc/plugin-simulated,${plugin}` }
  })
  const provoke = (path: string) => call(`${server.url}/telephony/hostile${path}`, "GET")
  return { server, provoke }
})

/** The code with which the server closes a socket of the plugin after a message. */
const closedAfter = (url: string, message: string) =>
  Effect.async<number>((resume) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/telephony/hostile/socket`)
    socket.once("open", () => socket.send(message))
    socket.once("close", (code) => resume(Effect.succeed(code)))
    return Effect.sync(() => socket.terminate())
  })

/** How a handshake of a web page of this origin with a plugin ends. */
const handshakeOf = (url: string, origin: string, path = "/telephony/simulated") =>
  Effect.async<number | "opened">((resume) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, { origin })
    socket.once("open", () => resume(Effect.succeed("opened")))
    socket.once("unexpected-response", (_, response) => resume(Effect.succeed(response.statusCode ?? 0)))
    socket.on("error", () => {})
    return Effect.sync(() => socket.terminate())
  })

describe("A server with a hostile plugin", () => {
  it.scopedLive(
    "answers 500 to what cannot be sent, survives stray errors, counts them, and keeps a live call",
    () =>
      Effect.gen(function* () {
        const { provoke, server } = yield* withHostilePlugin
        const { lines, url } = server
        const line = yield* Line.open(server, () => Line.configuration(echo))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")

        for (const path of [
          "/location?to=%0d%0aSet-Cookie:a=b",
          "/location?to=%F0%9F%98%80",
          "/nothing",
          "/status",
          "/body"
        ]) {
          const answer = yield* provoke(path)
          expect([path, answer.status, answer.body["code"]]).toEqual([path, 500, "INTERNAL_ERROR"])
          const route = path.split("?", 1)[0]
          yield* lines.find("the log line", (text) => text.includes(`telephony hostile: GET ${route}`))
        }
        for (const path of ["/refuse-throws", "/refuse-garbage"]) {
          expect(yield* handshakeOf(url, url, `/telephony/hostile${path}`)).toBe(500)
          const logged = `telephony hostile: WebSocket ${path}: refuse`
          yield* lines.find(`the log line of ${path}`, (text) => text.includes(logged))
        }
        expect([yield* handshakeOf(url, "http://evil.example"), yield* handshakeOf(url, url)]).toEqual([403, "opened"])
        expect(yield* closedAfter(url, "send")).toBe(1011)
        expect(yield* closedAfter(url, "close")).toBe(1011)

        const strays: ReadonlyArray<readonly [string, RegExp]> = [
          ["/timer", /plugin hostile: .*exception.*in a timer/],
          ["/rejection", /plugin hostile: .*rejection.*in a promise/],
          ["/observer", /plugin hostile: .*in an observer/],
          ["/nobody", /promise was rejected.*no stack/]
        ]
        for (const [path, logged] of strays) {
          expect((yield* provoke(path)).status).toBe(202)
          yield* lines.find(`the log line of ${path}`, (text) => logged.test(text))
        }
        const ready = yield* call(`${url}/readyz`, "GET")
        expect([ready.status, ready.body["warnings"]]).toEqual([
          200,
          ["plugin hostile: 3 uncaught errors since the start"]
        ])
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")

        yield* Effect.forEach(["/timer", "/timer", "/timer"], provoke)
        const unhealthy = yield* eventually("readyz", call(`${url}/readyz`, "GET"), ({ status }) => status === 503)
        expect(unhealthy.body["message"]).toMatch(/telephony hostile: plugin hostile: 5 or more uncaught errors/)
        expect(unhealthy.body["warnings"]).toEqual([
          expect.stringMatching(/^plugin hostile: [56] uncaught errors since/)
        ])
        expect(JSON.stringify(unhealthy.body)).not.toContain("in a timer")

        phone.hangup()
        expect(yield* CallRecords.settled(server.api, callId)).toMatchObject({ ended_reason: "caller-hangup" })
        expect(server.hasExited()).toBe(false)
      }),
    { timeout: 120_000 }
  )

  it.scopedLive(
    "names the plugin that holds the thread, and the calls go on",
    () =>
      Effect.gen(function* () {
        const { provoke, server } = yield* withHostilePlugin
        const line = yield* Line.open(server, () => Line.configuration(echo))
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        for (const path of ["/block", "/block-at-once"]) {
          expect((yield* provoke(path)).status).toBe(202)
          const logged = /plugin hostile: spinning at file:\S+hostile\/Plugin\.mjs:\d+ held the thread for \d+ ms/
          yield* server.lines.find(`the log line of ${path}`, (text) => logged.test(text))
        }
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        expect(yield* CallRecords.settled(server.api, callId)).toMatchObject({ ended_reason: "caller-hangup" })
        const { body } = yield* call(`${server.url}/readyz`, "GET")
        expect(body["warnings"]).toEqual(["plugin hostile: 2 times it held the thread since the start"])
      }),
    { timeout: 120_000 }
  )

  it.scopedLive(
    "uses the next model and voice when one throws, blocks, leaks or emits garbage, and another call goes on",
    () =>
      Effect.gen(function* () {
        const speech = fileURLToPath(new URL("../fixtures/hostile/Speech.mjs", import.meta.url))
        const server = yield* ServerProcess.start({
          data: { url: yield* TestDatabase.freshUrl },
          keys: yield* ServerProcess.newKeys,
          env: { SVC_PLUGINS: `@svc/plugin-simulated,${speech}` }
        })
        const steady = yield* Line.open(server, () => Line.configuration(echo))
        const other = yield* steady.call
        yield* other.phone.hears("Hello.")
        let said = 0
        const faults = [
          ...["throws-model", "garbage-model", "blocking-model", "leaking-model"].map((name) => ({ model: { name } })),
          ...["Throwing", "Garbage", "Blocking", "Leaking"].map((voice) => ({ voice }))
        ]
        for (const fault of faults) {
          const line = yield* Line.open(server, () => Line.configuration(echo, fault))
          const { callId, phone } = yield* line.call
          yield* phone.hears("Hello.")
          phone.say("Hi")
          yield* phone.hears("Ok Hi.")
          phone.hangup()
          expect([fault, yield* CallRecords.settled(server.api, callId)]).toMatchObject([
            fault,
            { status: "completed", ended_reason: "caller-hangup" }
          ])
          other.phone.say(`Word ${++said}`)
          yield* other.phone.hears(`Ok Word ${said}.`)
        }
        const { body } = yield* call(`${server.url}/readyz`, "GET")
        expect(JSON.stringify(body)).toMatch(/plugin hostile-speech: .*held the thread/)
        const { text } = yield* call(`${server.url}/metrics`, "GET")
        for (const capability of ["language_model", "text_to_speech"]) {
          const errors = `svc_provider_errors_total\\{plugin="hostile-speech",capability="${capability}"\\} `
          expect(Number(new RegExp(`${errors}(\\d+)`).exec(text)?.[1])).toBeGreaterThanOrEqual(4)
        }
        other.phone.hangup()
        expect(yield* CallRecords.settled(server.api, other.callId)).toMatchObject({ ended_reason: "caller-hangup" })
      }),
    { timeout: 120_000 }
  )

  it.scopedLive(
    "ends its calls with their farewell, refuses new ones, and exits with 1 after an exception that is nobody's",
    () =>
      Effect.gen(function* () {
        const { provoke, server } = yield* withHostilePlugin
        const line = yield* Line.open(server, () => Line.configuration(echo, { end_session_message: "We close." }))
        const { phone } = yield* line.call
        yield* phone.hears("Hello.")
        const idle = yield* line.phone
        expect((yield* provoke("/fatal")).status).toBe(202)
        yield* server.lines.find("the log line of the stop", (text) => /Stopping/.test(text))
        idle.send({ event: "dial", to: line.number, from: Line.caller })
        yield* idle.until("rejected")
        yield* phone.hears("We close.")
        yield* phone.until("hangup")
        expect(yield* server.exit("30 seconds")).toEqual({ code: 1, signal: null })
        expect(server.errors()).toMatch(
          /svc: an uncaught exception of unknown origin .*: without a stack; start it again/
        )
      }),
    { timeout: 120_000 }
  )
})
