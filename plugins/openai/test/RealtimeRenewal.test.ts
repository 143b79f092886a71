import { describe, expect, it } from "@effect/vitest"
import type { SpeechToTextOptions } from "@svc/providers/SpeechToText"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Duration, Effect, Redacted, TestClock, TestServices } from "effect"
import { make as makeClient } from "../src/OpenAiClient.ts"
import { initialDialect } from "../src/Realtime/RealtimeRequest.ts"
import * as RealtimeSession from "../src/Realtime/RealtimeSession.ts"
import { type EmulatedRealtimeOptions, emulatedRealtime } from "../src/testing/EmulatedRealtime.ts"
import { apiKey } from "./Provided.ts"
import { listen, sentOn, until } from "./Realtime.ts"

const live = (condition: () => boolean) => TestServices.provideLive(until(condition))

/** A session whose connection is old after a second. */
const session = (options: Partial<EmulatedRealtimeOptions>) =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(emulatedRealtime({ key: apiKey, transcriptMs: () => 0, ...options }))
    const double = yield* makeHostDouble()
    const { host } = double
    const client = yield* makeClient({ baseUrl: `${server.origin}/v1`, apiKey: Redacted.make(apiKey), host })
    const model = "gpt-live-transcribe"
    const realtime = { client, host, model, renewAfter: Duration.seconds(1), dialect: initialDialect }
    const open = (asked: SpeechToTextOptions) => RealtimeSession.open(realtime, asked)
    const heard = yield* listen({ speechToText: { open } })
    const asked = () => server.requests.filter(({ path }) => path === "/v1/realtime").length
    const commits = (nth: number) => sentOn({ server }, nth).filter(({ type }) => type.endsWith(".commit")).length
    return { server, double, heard, asked, commits }
  })

describe("a transcription session that becomes old", () => {
  it.effect("goes on over another connection when nobody speaks, and loses no word", () =>
    Effect.gen(function* () {
      const { commits, double, heard, server } = yield* session({})
      heard.say("one")
      yield* live(() => heard.finals().length === 1)
      heard.session.update?.({ language: "nl-NL" })
      heard.session.voiceActivity?.(true)
      heard.push("two ")
      yield* TestClock.adjust("1 second")
      yield* live(() => server.peers.length === 2 && sentOn({ server }, 1).length === 1)
      heard.push("three")
      expect([server.openPeers(), commits(0), commits(1)]).toEqual([2, 1, 0])
      heard.session.voiceActivity?.(false)
      yield* live(() => heard.finals().length === 2 && server.openPeers() === 1)
      heard.say("four")
      yield* live(() => heard.finals().length === 3)
      expect(heard.finals()).toEqual(["one", "two three", "four"])
      expect([commits(0), commits(1)]).toEqual([2, 1])
      expect(heard.tags()).not.toContain("Failed")
      expect(JSON.stringify(sentOn({ server }, 1)[0])).toContain('"languages":["nl"]')
      expect(double.counted("connections_lost")).toBe(0)
      // The next one takes over at once, because nobody speaks.
      yield* TestClock.adjust("1 second")
      yield* live(() => server.peers.length === 3 && server.openPeers() === 1)
    }).pipe(Effect.scoped)
  )

  it.effect("stays at its connection when another cannot be opened, and tries again", () =>
    Effect.gen(function* () {
      const { asked, heard, server } = yield* session({
        refuse: (nth) => (nth === 2 ? { status: 503 } : undefined)
      })
      yield* TestClock.adjust("1 second")
      yield* live(() => asked() === 2)
      heard.say("one")
      yield* live(() => heard.finals().length === 1)
      yield* TestClock.adjust("30 seconds")
      yield* live(() => server.peers.length === 2 && server.openPeers() === 1)
      heard.say("two")
      yield* live(() => heard.finals().length === 2)
      expect(heard.tags()).not.toContain("Failed")
    }).pipe(Effect.scoped)
  )

  it.effect("stays at its connection when the other one ends before it takes over", () =>
    Effect.gen(function* () {
      const { heard, server } = yield* session({})
      heard.session.voiceActivity?.(true)
      heard.push("one")
      yield* TestClock.adjust("1 second")
      yield* live(() => server.peers.length === 2 && sentOn({ server }, 1).length === 1)
      server.peers[1]?.close(1011, "gone")
      yield* live(() => server.openPeers() === 1)
      heard.session.voiceActivity?.(false)
      yield* live(() => heard.finals().length === 1)
      expect(heard.tags()).not.toContain("Failed")
    }).pipe(Effect.scoped)
  )
})
