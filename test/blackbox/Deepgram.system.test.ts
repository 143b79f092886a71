import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import type { Ear } from "@svc/plugin-deepgram/testing/Ear"
import { type EmulatedDeepgramOptions, emulatedDeepgram } from "@svc/plugin-deepgram/testing/EmulatedDeepgram"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { at, call, make as makeApi, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"
import { toneEar, toneVoice } from "../src/blackbox/ToneVendor.ts"

const apiKey = "dg-secret-0123456789"

interface More {
  readonly model?: string
  /** The simulated speech-to-text and text-to-speech come after those of Deepgram. */
  readonly hasFallback?: boolean
}

/** A Deepgram that hears and speaks tone speech, and how a server gets to it. `ears` are those of its sessions. */
const emulated = (options: Partial<EmulatedDeepgramOptions> & More, ears: Array<Ear> = []) =>
  Effect.gen(function* () {
    const deepgram = yield* emulatedServer(
      emulatedDeepgram({
        key: apiKey,
        ear: () => {
          const ear = toneEar()
          ears.push(ear)
          return ear
        },
        voice: toneVoice,
        ...options
      })
    )
    const start: ServerProcess.ServerOptions & { readonly keys: ServerProcess.ServerKeys } = {
      data: { url: yield* TestDatabase.freshUrl },
      keys: yield* ServerProcess.newKeys,
      env: {
        SVC_PLUGINS: "@svc/plugin-deepgram,@svc/plugin-simulated",
        // A provider that could serve in its place would hear again what was not final.
        ...(options.hasFallback === true ? {} : { SVC_SIMULATED_PROVIDES: "telephony,language-model,embedding" }),
        SVC_DEEPGRAM_API_KEY: apiKey,
        SVC_DEEPGRAM_URL: deepgram.origin,
        SVC_DEEPGRAM_MODEL: options.model ?? "nova-3"
      }
    }
    return { deepgram, start }
  })

const turnsOf = (record: unknown): ReadonlyArray<string> => {
  const transcript = at(record, "transcript")
  return Array.isArray(transcript)
    ? transcript.map((turn: unknown) => `${textAt(turn, "role")}: ${textAt(turn, "content")}`)
    : []
}
const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(5), { until: condition })

describe("A call with Deepgram", () => {
  for (const model of ["nova-3", "flux-general-en"]) {
    it.scopedLive(
      `${model}: a connection that breaks in the middle of a sentence loses no word, and says none twice`,
      () =>
        Effect.gen(function* () {
          const ears: Array<Ear> = []
          let heardBefore = ""
          let sessions = 0
          const options: Partial<EmulatedDeepgramOptions> = {
            fault: (_, peer, work) => {
              if (!peer.request.path.endsWith("/listen") || ++sessions > 1) return work
              const breaks = Effect.sync(() => {
                heardBefore = ears.map((ear) => ear.text()).join("")
                peer.breakOff()
              })
              return Effect.raceFirst(
                work,
                Effect.zipRight(
                  until(() => ears.some((ear) => ear.text().startsWith("One two"))),
                  breaks
                )
              )
            }
          }
          const { deepgram, start } = yield* emulated({ model, ...options }, ears)
          const server = yield* ServerProcess.start(start)
          const line = yield* Line.open(server, () => Line.configuration({ otherwise: "You said {{user}}." }))
          const { callId, phone } = yield* line.call
          yield* phone.hears("Hello.")
          phone.say("One two three four")
          yield* phone.hears("You said One two three four.")
          phone.say("Five")
          yield* phone.hears("You said Five.")
          phone.hangup()
          const record = yield* CallRecords.settled(server.api, callId)
          expect(turnsOf(record).filter((turn) => turn.startsWith("user: "))).toEqual([
            "user: One two three four",
            "user: Five"
          ])
          expect(heardBefore).toMatch(/^One two/)
          expect(heardBefore).not.toContain("four")
          expect(sessions).toBe(2)
          yield* eventually("no connection is left", Effect.sync(deepgram.openPeers), (open) => open === 0)
          const metrics = yield* call(`${server.url}/metrics`, "GET")
          expect(server.output() + metrics.text + JSON.stringify(record)).not.toContain(apiKey)
        })
    )
  }

  it.scopedLive("a caller who interrupts closes the connection of the turn, and the next turn is spoken", () =>
    Effect.gen(function* () {
      const { deepgram, start } = yield* emulated({ pauseMs: 500 })
      const server = yield* ServerProcess.start(start)
      const long = "This is a long answer that takes quite a while to say and so can be interrupted by the caller."
      const script = { rules: [{ user: "Tell", say: `${long} ${long}` }], otherwise: "Ok {{user}}." }
      const line = yield* Line.open(server, () => Line.configuration(script))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("Tell me")
      yield* phone.catches("This is a long")
      phone.say("Stop it please")
      yield* phone.hears("Ok Stop it please.")
      // Its audio would have gone on for seconds.
      const turn = deepgram.peers.find(({ received }) => received.some((message) => String(message).includes(long)))
      expect(turn?.closed()?.code).toBe(1000)
      phone.hangup()
      const record = yield* CallRecords.settled(server.api, callId)
      expect(turnsOf(record)[2]).toMatch(/^assistant: This is a long/)
      expect(turnsOf(record)[2]?.length).toBeLessThan(long.length)
      yield* eventually("no connection is left", Effect.sync(deepgram.openPeers), (open) => open === 0)
    })
  )

  it.scopedLive(
    "a wrong key does not stop the start: the next provider serves calls, and /readyz and the log name the setting",
    () =>
      Effect.gen(function* () {
        const { start } = yield* emulated({ key: "another", hasFallback: true })
        const child = yield* SvcProcess.start(["serve", "--dev"], ServerProcess.environmentOf(start))
        const line = yield* child.lines.find("the address", (text) => text.includes("listens at http"), "60 seconds")
        const url = /listens at (http:\S+)/.exec(line)?.[1] ?? ""
        const ready = yield* call(`${url}/readyz`, "GET")
        const refused = "SVC_DEEPGRAM_API_KEY was refused"
        expect([ready.status, ready.text]).toEqual([503, expect.stringContaining(refused)])
        const logged = child
          .errors()
          .split("\n")
          .find((text) => text.includes(refused))
        expect(logged).toContain("plugin")
        expect(logged).toContain("deepgram")
        const api = makeApi(url, start.keys.project)
        const { call: dialled } = yield* Line.open({ api, url }, () =>
          Line.configuration({ otherwise: "Ok {{user}}." })
        )
        const { phone } = yield* dialled
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        phone.hangup()
        expect(child.output() + ready.text).not.toContain(apiKey)
      })
  )
})
