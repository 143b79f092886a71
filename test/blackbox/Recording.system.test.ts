import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Redacted } from "effect"
import { textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import { framesOf } from "../src/blackbox/Mp3Frames.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-recordings-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** A database and a data folder on which servers can be started one after the other. */
const installation = Effect.gen(function* () {
  const database = yield* TestDatabase.freshUrl
  const recordings = yield* folder
  const options = {
    data: { url: database },
    keys: yield* ServerProcess.newKeys,
    env: { SVC_RECORDINGS_DIR: recordings }
  }
  return { options, recordings, read: Effect.provide(pool(Redacted.value(database), 1)) }
})

const fetched = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  })

it.scopedLive(
  "a recording is served by its signed link, whole and by Range, and by no altered link",
  () =>
    Effect.gen(function* () {
      const { options, read } = yield* installation
      const server = yield* ServerProcess.start(options)
      const line = yield* Line.open(server, () => Line.configuration(echo), { recording: true })
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("Hi")
      yield* phone.hears("Ok Hi.")
      expect((yield* server.api.get(`/v1/calls/${callId}/recording`)).status).toBe(404)
      phone.hangup()
      const call = yield* CallRecords.settled(server.api, callId)
      const answer = yield* eventually(
        "the link",
        server.api.get(`/v1/calls/${callId}/recording?expires_in=120`),
        ({ status }) => status === 200
      )
      expect(answer.body["expires_in"]).toBe(120)
      const left = Date.parse(textAt(answer.body, "expires_at")) - Date.now()
      expect(left).toBeGreaterThan(100_000)
      expect(left).toBeLessThan(121_000)
      const url = server.url + textAt(answer.body, "url").replace(/^https?:\/\/[^/]+/, "")

      const whole = yield* fetched(url)
      expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "audio/mpeg"])
      const { seconds, stereo, stray } = framesOf(whole.bytes)
      expect([stereo, stray]).toEqual([true, 0])
      expect(Math.abs(seconds - Number(call["duration_seconds"]))).toBeLessThan(1.2)
      const part = yield* fetched(url, { headers: { range: "bytes=100-299" } })
      expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 100-299/${whole.bytes.length}`])
      expect(part.bytes).toEqual(whole.bytes.slice(100, 300))
      const head = yield* fetched(url, { method: "HEAD" })
      expect([head.status, head.headers.get("content-length")]).toEqual([200, String(whole.bytes.length)])

      const later = Math.floor(Date.now() / 1000) + 80_000
      const hostile = [
        url.replace(/expires=\d+/, `expires=${later}`),
        url.replace(/signature=./, "signature=_"),
        url.replace(/&signature=.*/, ""),
        url.replace(/\?.*/, ""),
        url.replace(callId, "call_000000000000000000000000"),
        url.replace(callId, "..%2f..%2fpostgres%2fPG_VERSION")
      ]
      for (const link of hostile) expect((yield* fetched(link)).status).toBe(403)
      for (const expires_in of ["59", "86401", "1e3", "x", ""]) {
        const refused = yield* server.api.get(`/v1/calls/${callId}/recording?expires_in=${expires_in}`)
        expect([refused.status, refused.body["code"]]).toEqual([400, "VALIDATION_ERROR"])
      }

      const events = yield* read(CallRecords.eventsOf(callId))
      expect(CallRecords.misfitsOf(events)).toEqual([])
      expect(CallRecords.namesOf(events, "call.").at(-1)).toBe("call.recording_ready")
      const told = CallRecords.dataOf(events, "call.recording_ready")[0] ?? {}
      const byEvent = yield* fetched(server.url + textAt(told, "recording_url").replace(/^https?:\/\/[^/]+/, ""))
      expect(byEvent.bytes.length).toBe(whole.bytes.length)
    }),
  120_000
)

it.scopedLive(
  "the recording of a call whose server was killed is completed by the next start, with one call.recording_ready",
  () =>
    Effect.gen(function* () {
      const { options, read, recordings } = yield* installation
      const server = yield* ServerProcess.start(options)
      const line = yield* Line.open(server, () => Line.configuration(echo), { recording: true })
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      for (const words of ["One", "Two", "Three"]) {
        phone.say(words)
        yield* phone.hears(`Ok ${words}.`)
      }
      yield* eventually(
        "the turns",
        server.api.get(`/v1/calls/${callId}`),
        ({ body }) => CallRecords.spoken(body).length === 7
      )
      const lived = Number((yield* server.api.get(`/v1/calls/${callId}`)).body["duration_seconds"])
      yield* server.signal("SIGKILL")
      yield* server.exit()
      expect(readdirSync(join(recordings, "recordings"))).toEqual([`${callId}.mp3.part`])

      const next = yield* ServerProcess.start(options)
      const call = yield* CallRecords.settled(next.api, callId)
      expect(call["status"]).toBe("failed")
      const answer = yield* eventually(
        "the link",
        next.api.get(`/v1/calls/${callId}/recording`),
        ({ status }) => status === 200
      )
      const file = yield* fetched(next.url + textAt(answer.body, "url").replace(/^https?:\/\/[^/]+/, ""))
      const { seconds, stray } = framesOf(file.bytes)
      expect(seconds).toBeGreaterThan(lived - 4)
      // At most the frame being written is cut.
      expect(stray).toBeLessThan(600)
      const events = yield* read(CallRecords.eventsOf(callId))
      expect(CallRecords.misfitsOf(events)).toEqual([])
      expect(CallRecords.namesOf(events, "call.").slice(-3)).toEqual([
        "call.ended",
        "call.failed",
        "call.recording_ready"
      ])
      expect((yield* next.api.get(`/v1/calls/${callId}`)).body).toMatchObject({
        has_recording: true,
        recording_enabled: true
      })
    }),
  120_000
)
