import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import { call } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const plugin = fileURLToPath(new URL("../fixtures/logging/Plugin.mjs", import.meta.url))

/** A server that logs in this format, with a plugin that logs and fails. */
const serverWith = (format: string) =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.freshUrl
    const keys = yield* ServerProcess.newKeys
    return yield* ServerProcess.start({
      data: { url: database },
      keys,
      env: { SVC_PLUGINS: `${plugin},@svc/plugin-simulated`, SVC_LOG_FORMAT: format }
    })
  })

/** Plays a call whose model fails, a call whose server fails, and a request that fails; gives the ids of the calls. */
const provoke = (server: ServerProcess.ServerProcess) =>
  Effect.gen(function* () {
    const line = yield* Line.open(server, () => Line.configuration({ otherwise: "Ok {{user}}." }))
    const { callId, phone } = yield* line.call
    yield* phone.hears("Hello.")
    phone.say("Hi")
    yield* phone.hears("Ok Hi.")
    phone.hangup()
    yield* CallRecords.settled(server.api, callId)

    const broken = yield* Line.open(server, () => ({ json: {} }))
    const other = yield* broken.phone
    other.send({ event: "dial", to: broken.number, from: Line.caller })
    const { body } = yield* broken.customer.until("call.started")
    yield* other.until("hangup")
    const failed = String(body["call_id"])
    yield* CallRecords.settled(server.api, failed)

    yield* call(`${server.url}/telephony/logging/fail`, "GET")
    yield* server.lines.find(
      "the line of the request",
      (text) => text.includes("it only logs") && text.includes("/fail")
    )
    return { callId, failed }
  })

describe("The log", () => {
  it.scopedLive(
    "as JSON has call_id and request_id as fields of all lines of a call and of a request, those of plugins included",
    () =>
      Effect.gen(function* () {
        const server = yield* serverWith("json")
        const { callId, failed } = yield* provoke(server)
        const lines = server
          .errors()
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line))
        const of = (text: string) => lines.filter(({ message }) => String(message).includes(text))

        expect(of("the plugin is asked")).toMatchObject([{ call_id: callId, logLevel: "INFO" }])
        expect(of("Language model logging failed")).toMatchObject([{ call_id: callId }])
        const ofFailed = lines.filter((line) => JSON.stringify(line).includes(failed))
        expect(ofFailed.length).toBeGreaterThan(0)
        for (const line of lines) {
          for (const id of [callId, failed])
            if (JSON.stringify(line).includes(id)) expect(line).toMatchObject({ call_id: id })
        }

        const [asked] = of("the route is asked")
        expect(asked).toMatchObject({ request_id: expect.stringMatching(/^req_/) })
        const answered = lines.filter(({ request_id }) => request_id === asked.request_id)
        expect(answered.map(({ logLevel }) => logLevel)).toEqual(["INFO", "ERROR"])
        expect(answered[1]).not.toHaveProperty("annotations")
      }),
    { timeout: 60_000 }
  )

  it.scopedLive(
    "as text has call_id=… and request_id=…",
    () =>
      Effect.gen(function* () {
        const server = yield* serverWith("logfmt")
        const { callId, failed } = yield* provoke(server)
        const lines = server.errors().split("\n")
        const line = (text: string) => lines.find((one) => one.includes(text))
        expect(line("the plugin is asked")).toContain(` call_id=${callId}`)
        expect(line("Language model logging failed")).toContain(` call_id=${callId}`)
        expect(line("the route is asked")).toMatch(/ request_id=req_[0-9a-f]{32}/)
        for (const one of lines) if (one.includes(failed)) expect(one).toContain(`call_id=${failed}`)
      }),
    { timeout: 60_000 }
  )
})
